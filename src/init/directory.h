/* init/directory.h -- the entries of a directory, without memory of our own for each level. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct directory_entry { /* as getdents64 gives it */
        uint64_t inode;
        int64_t offset; /* of the next */
        uint16_t len;
        uint8_t type;
        char name[];
};

struct directory {
        int fd;
        long at, filled;
        char buffer[4096] __attribute__((aligned(8)));
};

/* The next entry but . and ..: 1, 0 at the end, or -errno.  It is valid until the next call. */
int directory_next(struct directory *directory, const struct directory_entry **ret);

/* Goes on with another directory, from an entry's offset on; 0 is its beginning. */
int directory_seek(struct directory *directory, int fd, int64_t offset);
