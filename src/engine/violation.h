/* engine/violation.h -- something that was refused, in the words that a result shows.
 *
 * Shared by whoever runs something: the server, and `cella run` without one. */
#pragma once
#include "engine/verdict.h"

#define VIOLATIONS_MAX 64      /* in a result; the last says how many more there were, if there were more */
#define VIOLATIONS_OF_LIMITS 3 /* that one run can have at most */

enum violation_kind { VIOLATION_NETWORK, VIOLATION_LIMIT, VIOLATION_SYSCALL, VIOLATION_KINDS };
extern const char *const violation_words[]; /* by kind */

struct violation {
        enum violation_kind kind;
        char target[288], detail[128];
};

/* From fields of these sizes, with an end or without, by whoever: only printable ASCII is left of them. */
void violation_set(struct violation *ret, enum violation_kind kind, const char *target, size_t target_size,
                   const char *detail, size_t detail_size);
bool violation_same(const struct violation *a, const struct violation *b);

/* Limits that were hit, and survived: a fork, a write that failed, a process that was killed.  How many. */
unsigned violations_of_limits(const struct verdict_facts *facts, const struct cella_limits *limits,
                              enum cella_status status, struct violation ret[VIOLATIONS_OF_LIMITS]);

/* The one in the place of the last, when there were `more` besides those that are shown. */
void violation_of_more(struct violation *ret, uint64_t more);

/* The violations of one run, without duplicates, for its result.  All zero at first. */
struct violations {
        struct violation *list;
        unsigned n;
        uint64_t more; /* that are not in the list, because it was full */
};

void violations_add(struct violations *violations, const struct violation *violation);

/* Fills in the violations of the result. */
int violations_take(struct violations *violations, struct cella_result *result);
void violations_done(struct violations *violations);
