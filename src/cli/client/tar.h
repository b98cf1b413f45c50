/* cli/client/tar.h -- directories as tar (ustar with pax headers), for cella cp.
 *
 * Packing reads a tree of the caller's own.  Unpacking is the dangerous direction: the archive comes
 * from a sandbox, so its author is hostile and the place is the host.  What must stay true of it:
 *  - every step of a name is opened from the directory before it, without following links, so that
 *    nothing is ever made or changed outside of the directory it was given;
 *  - a name that is absolute or has `..` is refused, and so is one that leads through a link or file;
 *  - a file is always a new one (new_file.h): what had its name is replaced, never written to, and only
 *    if it is a regular file or a symbolic link;
 *  - files, directories and symbolic links are made, never devices; no mode is more than 0777;
 *  - no link is followed.  A link is made only if it leads to a place below the directory, whatever
 *    other links of the archive are on its way: so that a later command that is given a path through it
 *    does not leave the directory either (tar_link_leads_out() says how that is known);
 *  - hard links, which could give a new name to a file that was there before, are not made;
 *  - the number of bytes and of entries is limited. */
#pragma once
#include <stdbool.h>
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

struct tar_unpack_options {
        uint64_t bytes_max;   /* of the content of all entries together */
        uint64_t entries_max; /* directories that are made on the way count too */
        bool keep_links;      /* make also the links that lead out of the directory; none is followed */
};

/* What was not made. */
struct tar_left_out {
        unsigned special; /* hard links, devices, FIFOs, unknown kinds */
        unsigned links;   /* symbolic links that lead out of the directory */
};

/* dir must outlive it. */
int tar_unpack_new(int dir, const struct tar_unpack_options *options, struct tar_unpack **ret,
                   struct cella_err *err);
struct tar_unpack *tar_unpack_free(struct tar_unpack *u);
DEFINE_AUTO(struct tar_unpack *, tar_unpack_free)
/* -EFBIG: a limit was reached.  What was unpacked before an error stays; a file that is not whole does not.
 */
int tar_unpack_feed(struct tar_unpack *u, const char *data, size_t len, struct cella_err *err);
/* Nothing more comes: -EPROTO if it ended in the middle. */
int tar_unpack_end(struct tar_unpack *u, struct tar_left_out *ret, struct cella_err *err);

/* Whether the symbolic link at path (relative, without `..`) with this target may lead out of the directory
 * that path is relative to.  A target stays inside if it is relative and has `..` at its beginning only, not
 * more often than path is deep.  The beginning is then resolved among real directories, and every link that
 * the rest leads through is one of the same kind. */
bool tar_link_leads_out(const char *path, const char *target);

uint32_t tar_checksum(const struct tar_header *h);
