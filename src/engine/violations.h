/* engine/violations.h -- what was refused in one run, each once, for its result. */
#pragma once
#include "engine/violation.h"

struct violations { /* zeroed at first */
        struct violation *list;
        unsigned n;
        uint64_t more; /* that found no room */
};

void violations_add(struct violations *violations, const struct violation *violation);

/* Fills in those of the result. */
int violations_take(struct violations *violations, struct cella_result *result);
void violations_done(struct violations *violations);
