/* base/keep.h -- keeps the first and the last part of a stream, within a fixed maximum.
 *
 * Memory grows with what comes, up to the maximum, and then no more. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keep {
        char *data;
        size_t size;    /* of data */
        size_t max;     /* bytes kept; the first half stays, the rest is a ring */
        uint64_t total; /* bytes seen */
};

void keep_init(struct keep *k, size_t max);
void keep_done(struct keep *k);

/* Without memory to grow, the maximum becomes the number of bytes that are allocated. */
void keep_add(struct keep *k, const char *data, size_t len);

bool keep_truncated(const struct keep *k);

/* Hands over all that was kept as one block, with a line in the place of what was left
 * out.  The caller frees *ret.  Leaves k empty.  -ENOMEM: k is as before. */
int keep_take(struct keep *k, char **ret, size_t *ret_len);
