/* cli/client/tar.h -- directories as tar (ustar with pax headers), for cella cp.
 *
 * Packing reads a tree of the caller.  Unpacking is the dangerous direction: the archive comes from a
 * sandbox, so it is hostile, and it is unpacked on the host.  Invariants of unpacking:
 *  - each component of a name is opened relative to its parent directory without following links, so
 *    nothing is created or changed outside of the given directory;
 *  - a name that is absolute, contains `..`, or leads through a link or file is refused;
 *  - each file is a new file (new_file.h): an existing file of that name is replaced, never written to, and
 *    only if it is a regular file or a symbolic link;
 *  - only files, directories and symbolic links are created, with a mode of at most 0777;
 *  - no link is followed.  A link is created only if its target is below the directory, whatever other links
 *    of the archive the target leads through, so a later command with a path through the link also stays in
 *    the directory (see tar_link_leads_out());
 *  - hard links are not created: they could give a new name to an existing file;
 *  - the number of bytes and of entries is limited. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"

#define TAR_BLOCK 512
#define TAR_DEPTH_MAX 128 /* nesting of directories */
#define TAR_META_MAX 65536u

struct tar_header {
        char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6],
                version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};

/* Passes a tar of the contents of the directory to sink, piece by piece.  *skipped counts the entries that
 * are neither files, directories nor symbolic links.  The caller keeps dir. */
int tar_pack(int dir, int (*sink)(void *userdata, const char *data, size_t len, struct cella_err *err),
             void *userdata, unsigned *skipped, struct cella_err *err);

struct tar_unpack; /* opaque */

struct tar_unpack_options {
        uint64_t bytes_max;   /* contents of all entries together */
        uint64_t entries_max; /* including parent directories that are created */
        bool keep_links;      /* also create links that lead out of the directory; no link is followed */
};

/* Entries that were not created. */
struct tar_left_out {
        unsigned special; /* hard links, devices, FIFOs, unknown kinds */
        unsigned links;   /* symbolic links that lead out of the directory */
};

/* dir must outlive it. */
int tar_unpack_new(int dir, const struct tar_unpack_options *options, struct tar_unpack **ret,
                   struct cella_err *err);
struct tar_unpack *tar_unpack_free(struct tar_unpack *u);
DEFINE_AUTO(struct tar_unpack *, tar_unpack_free)
/* -EFBIG: a limit was reached.  After an error, complete entries stay; an incomplete file is removed. */
int tar_unpack_feed(struct tar_unpack *u, const char *data, size_t len, struct cella_err *err);
/* The end of the data: -EPROTO if the archive is not complete. */
int tar_unpack_end(struct tar_unpack *u, struct tar_left_out *ret, struct cella_err *err);

/* Whether the symbolic link at path (relative, without `..`) with this target may lead out of the directory
 * that path is relative to.  A target stays inside if it is relative and has `..` only at its beginning, at
 * most as often as path has parent directories.  The beginning is then resolved among real directories, and
 * the same rule holds for every link in the rest. */
bool tar_link_leads_out(const char *path, const char *target);

uint32_t tar_checksum(const struct tar_header *h);
