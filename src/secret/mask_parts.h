/* secret/mask_parts.h -- what the two halves of the mask share: what is looked for, made by mask.c, and read
 * by mask_stream.c. */
#pragma once
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>

#include "secret/form.h"
#include "secret/mask.h"

/* A form that may begin with this pair of bytes. */
struct beginning {
        uint16_t pair;
        uint16_t form;
};

enum { BEGINS = 1, BEGINS_LINE = 2 };

struct mask {
        char *values; /* copies, one behind the other, in guarded memory */
        struct form *forms;
        uint32_t **borders; /* of each form: made when first needed */
        size_t n_forms;
        struct beginning *beginnings; /* by pair */
        size_t n_beginnings, room;
        uint8_t pairs[65536 / 8];
        uint8_t first[256]; /* BEGINS...: of what a single byte may be the first */
};

static inline uint16_t mask_pair(const char *text)
{
        return (uint16_t)((unsigned char)text[0] | (unsigned char)text[1] << 8);
}

/* For each number of symbols, the longest shorter beginning that they end with.  NULL: no memory. */
const uint32_t *mask_borders(struct mask *mask, size_t form);

/* Memory that had values in it. */
static inline void mask_wipe(void *data, size_t size)
{
        if (data)
                sodium_memzero(data, size);
        free(data);
}
