/* secret/mask_parts.h -- the search structure that mask.c builds and mask_stream.c uses. */
#pragma once
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>

#include "secret/form.h"

/* A form that may start with this pair of bytes. */
struct beginning {
        uint16_t pair;
        uint16_t form;
};

enum { BEGINS = 1, BEGINS_LINE = 2 };

struct mask {
        char *values; /* copies, one after the other, in guarded memory */
        struct form *forms;
        uint32_t **borders; /* per form, computed on first use */
        size_t n_forms;
        struct beginning *beginnings; /* sorted by pair */
        size_t n_beginnings, room;
        uint8_t pairs[65536 / 8];
        uint8_t first[256]; /* set of BEGINS...: whether the byte may be the first of a form */
};

static inline uint16_t mask_pair(const char *text)
{
        return (uint16_t)((unsigned char)text[0] | (unsigned char)text[1] << 8);
}

/* Returns, for each number of symbols, the length of the longest proper prefix that is also a suffix of
 * them (as in Knuth-Morris-Pratt).  NULL if there is no memory. */
const uint32_t *mask_borders(struct mask *mask, size_t form);

/* Wipes and frees memory that contained values. */
static inline void mask_wipe(void *data, size_t size)
{
        if (data)
                sodium_memzero(data, size);
        free(data);
}
