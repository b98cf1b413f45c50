/* base/limits.h -- the table of limits: names, units, ranges, defaults, help texts.
 *
 * The options of the command line and their help, the library, the settings, requests, pools, the OpenAPI
 * description, the web form and the names in isolation.missing all read it.  To add a limit: a field in
 * struct cella_limits, a row here, the code that enforces it, and doc/man/run.1 if its help needs more words.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cella.h"

enum limit_unit { LIMIT_BYTES, LIMIT_TIME, LIMIT_CORES, LIMIT_COUNT };

/* Whether each execution in a sandbox may have its own value, up to that of the sandbox, or the value belongs
 * to the sandbox and cannot differ. */
enum limit_scope { LIMIT_OF_SANDBOX, LIMIT_OF_EXECUTION };

struct limit {
        const char *name;   /* in the settings */
        const char *option; /* on the command line */
        const char *title;  /* for the web form and messages */
        enum limit_unit unit;
        enum limit_scope scope;
        uint32_t bit;                /* CELLA_LIMIT_*; 0: can always be enforced */
        const char *missing;         /* its name in isolation.missing; NULL if bit is 0 */
        size_t offset, size;         /* field in struct cella_limits */
        uint64_t min, max, standard; /* standard 0 with min > 0: not limited by default */
        const char *help;
};

extern const struct limit limits_table[];
extern const size_t limits_table_len;

uint64_t limit_get(const struct cella_limits *limits, const struct limit *limit);
void limit_put(struct cella_limits *limits, const struct limit *limit, uint64_t value);

/* Writes a value as it can be typed: 512M, 300s, 0.5. */
void limit_write(const struct limit *limit, uint64_t value, char *ret, size_t size);

/* The bits of all limits; and the limit of the lowest bit that is set, NULL if there is none. */
uint32_t limits_bits(void);
const struct limit *limit_of_bits(uint32_t bits);

/* Whether an execution with the wanted limits can run in a sandbox that was made with others, before any code
 * ran in it.  Limits of an execution may differ.  But if one of them needs a control group, it is set in both
 * or in neither: cgroup v1 counts CPU time only in sandboxes that were made with a limit on it. */
bool limits_fit_sandbox(const struct cella_limits *made, const struct cella_limits *wanted);

int limits_check(const struct cella_limits *limits, struct cella_err *err);
