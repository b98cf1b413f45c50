/* base/parse.h -- parses sizes, times and counts in the form that people write. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Each function returns 0, -EINVAL (wrong form) or -ERANGE (too large). */
int parse_bytes(const char *text, uint64_t *ret);        /* 512, 4K, 1.5M, 2g, 1GiB: powers of 1024 */
int parse_milliseconds(const char *text, uint64_t *ret); /* 100ms, 5s, 2m, 1h; no unit: seconds */
int parse_thousandths(const char *text, uint64_t *ret);  /* 0.5, 2 */
int parse_count(const char *text, uint64_t *ret);

/* Returns the word most similar to typed, or NULL if none is similar.  words[i] is at (const char *)(base +
 * i * stride). */
const char *parse_nearest(const char *typed, const void *base, size_t n, size_t stride);
