/* init/files/directory.h -- reads the entries of a directory without allocating memory for each level. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct directory_entry { /* as getdents64 returns it */
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

/* Returns 1 and the next entry except . and .., 0 at the end, or -errno. The entry is valid until the next
 * call. */
int directory_next(struct directory *directory, const struct directory_entry **ret);

/* Continues with another directory at the offset of an entry; 0 is the beginning. */
int directory_seek(struct directory *directory, int fd, int64_t offset);
