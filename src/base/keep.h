/* base/keep.h -- keeps the first and the last part of a stream, up to a fixed number of bytes.
 *
 * Memory grows with the data, up to this maximum. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keep {
        char *data;
        size_t size;    /* allocated bytes in data */
        size_t max;     /* bytes kept: the first half stays, the rest is a ring buffer */
        uint64_t total; /* bytes seen */
};

void keep_init(struct keep *k, size_t max);
void keep_done(struct keep *k);

/* Adds data.  If there is no memory, k->max becomes the number of bytes that are allocated. */
void keep_add(struct keep *k, const char *data, size_t len);

bool keep_truncated(const struct keep *k);

/* Returns everything that was kept as one block, with a line of text in place of the omitted bytes.  The
 * caller frees *ret.  k is empty afterwards.  On -ENOMEM, k is unchanged. */
int keep_take(struct keep *k, char **ret, size_t *ret_len);
