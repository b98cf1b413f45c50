/* init/files/tar.h -- reads tar archives: ustar, pax, GNU long names.
 *
 * Everything in an archive is hostile.  tar_next() checks each entry: its path, and the target of a hard
 * link, is relative, has no ".", ".." or empty component and no trailing slash.  The target of a symlink is
 * any text that is not empty: it may be absolute and may contain "..", as the links of a virtual environment
 * do.  Archives are unpacked inside a sandbox, where the code can make any symlink itself; the unpacker must
 * not follow links (untar.c).  The reader has no effect other than calls of read(), so that it can be tested.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TAR_BLOCK 512u
#define TAR_PATH_MAX 4096u
#define TAR_RECORDS_MAX 65536u /* bytes of a pax header */

enum tar_kind { TAR_FILE, TAR_DIRECTORY, TAR_SYMLINK, TAR_HARDLINK };

struct tar_entry {
        enum tar_kind kind;
        unsigned mode; /* permissions only */
        uint64_t size; /* of a file */
        int64_t mtime;
        char path[TAR_PATH_MAX]; /* "": the root itself */
        char link[TAR_PATH_MAX]; /* target of a symlink: any text, not empty; of a hard link: a path like the
                                    above */
};

struct tar_reader {
        ssize_t (*read)(void *arg, void *data, size_t size); /* some bytes, 0 at the end, or -errno */
        void *arg;
        /* Private to the reader. */
        uint64_t left;    /* of the entry's content */
        unsigned padding; /* after it */
        char records[TAR_RECORDS_MAX];
};

/* Reads the next entry. Returns 1; 0 at the end of the archive; -ENODATA if the archive is truncated; -EINVAL
 * if it is invalid or contains an unsupported type; -ENAMETOOLONG. */
int tar_next(struct tar_reader *reader, struct tar_entry *ret);

/* Reads content of the current entry. Returns the number of bytes, 0 at its end, -ENODATA, or -errno. */
ssize_t tar_read(struct tar_reader *reader, void *data, size_t size);

/* A header as in an archive.  The checksum covers the block with spaces in the checksum field. */
struct tar_header {
        char name[100];
        char mode[8], uid[8], gid[8];
        char size[12], mtime[12];
        char checksum[8];
        char type;
        char link[100];
        char magic[6], version[2];
        char user[32], group[32];
        char device_major[8], device_minor[8];
        char prefix[155];
        char pad[12];
};

_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a block");

unsigned tar_checksum(const struct tar_header *header);
