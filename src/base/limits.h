/* base/limits.h -- the table of limits: names, units, ranges, defaults, help texts.
 *
 * The command line, its help and the checks of the library read this table. */
#pragma once
#include <stddef.h>

#include "cella.h"

enum limit_unit { LIMIT_BYTES, LIMIT_TIME, LIMIT_CORES, LIMIT_COUNT };

struct limit {
        const char *name;   /* in the settings */
        const char *option; /* on the command line */
        enum limit_unit unit;
        uint32_t bit;                /* CELLA_LIMIT_*; 0: can always be enforced */
        size_t offset, size;         /* field in struct cella_limits */
        uint64_t min, max, standard; /* standard 0 with min > 0: not limited by default */
        const char *help;
};

extern const struct limit limits_table[];
extern const size_t limits_table_len;

uint64_t limit_get(const struct cella_limits *limits, const struct limit *limit);
void limit_put(struct cella_limits *limits, const struct limit *limit, uint64_t value);

int limits_check(const struct cella_limits *limits, struct cella_err *err);
