/* base/limits.h -- the one table of limits: names, units, ranges, defaults, help.
 *
 * The command line, its help and the checks of the library all read it. */
#pragma once
#include <stddef.h>

#include "cella.h"

enum limit_unit { LIMIT_BYTES, LIMIT_TIME, LIMIT_CORES, LIMIT_COUNT };

struct limit {
        const char *name;   /* as in the settings */
        const char *option; /* as on the command line */
        enum limit_unit unit;
        uint32_t bit;                /* CELLA_LIMIT_*; 0: always enforceable */
        size_t offset, size;         /* of its field in struct cella_limits */
        uint64_t min, max, standard; /* standard 0 with min > 0: none unless asked for */
        const char *help;
};

extern const struct limit limits_table[];
extern const size_t limits_table_len;

uint64_t limit_get(const struct cella_limits *limits, const struct limit *limit);
void limit_put(struct cella_limits *limits, const struct limit *limit, uint64_t value);

int limits_check(const struct cella_limits *limits, struct cella_err *err);
