/* cli/tar.h -- directories as tar (ustar with pax headers), for cella cp.
 *
 * Packing reads a tree of the caller's own.  Unpacking is the dangerous direction: the archive comes
 * from a sandbox, so its author is hostile and the place is the host.  What must stay true of it:
 *  - every step of a name is opened from the directory before it, without following links, so that
 *    nothing is ever made or changed outside of the directory it was given;
 *  - a name that is absolute or has `..` is refused, and so is one that leads through a link or file;
 *  - a file is always a new one: what had its name is unlinked first, never written to;
 *  - files, directories and symbolic links are made, never devices; no mode is more than 0777;
 *  - links are made as they are and never followed; hard links, which could give a new name to a file
 *    that was there before, are not made. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"

#define TAR_BLOCK 512
#define TAR_DEPTH_MAX 128 /* directories in each other */
#define TAR_META_MAX 65536u

struct tar_header {
        char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6],
                version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};

/* Hands the tar of what is in the directory (not itself) to sink, piece by piece.  *skipped counts
 * what is neither file, directory nor symbolic link.  dir stays the caller's. */
int tar_pack(int dir, int (*sink)(void *userdata, const char *data, size_t len, struct cella_err *err),
             void *userdata, unsigned *skipped, struct cella_err *err);

struct tar_unpack; /* opaque */

/* dir must outlive it. */
int tar_unpack_new(int dir, struct tar_unpack **ret, struct cella_err *err);
struct tar_unpack *tar_unpack_free(struct tar_unpack *u);
DEFINE_AUTO(struct tar_unpack *, tar_unpack_free)
int tar_unpack_feed(struct tar_unpack *u, const char *data, size_t len, struct cella_err *err);
/* Nothing more comes: -EPROTO if it ended in the middle.  *skipped as above, hard links too. */
int tar_unpack_end(struct tar_unpack *u, unsigned *skipped, struct cella_err *err);

uint32_t tar_checksum(const struct tar_header *h);
