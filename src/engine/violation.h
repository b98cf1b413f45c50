/* engine/violation.h -- refused actions, in the words of a result.  Used by the server and by `cella run`. */
#pragma once
#include "engine/verdict.h"

#define VIOLATIONS_MAX 64      /* in a result; if there are more, the last one tells how many */
#define VIOLATIONS_OF_LIMITS 3 /* maximum per run */

enum violation_kind { VIOLATION_NETWORK, VIOLATION_LIMIT, VIOLATION_SYSCALL, VIOLATION_KINDS };
extern const char *const violation_words[]; /* by kind */

struct violation {
        enum violation_kind kind;
        char target[288], detail[128];
};

/* Sets a violation from untrusted fields of these sizes, which need not be terminated.  Other than printable
 * ASCII characters are replaced. */
void violation_set(struct violation *ret, enum violation_kind kind, const char *target, size_t target_size,
                   const char *detail, size_t detail_size);
bool violation_same(const struct violation *a, const struct violation *b);

/* Lists the limits that were reached without ending the run: a refused fork, a full disk, a killed process.
 * Returns their number. */
unsigned violations_of_limits(const struct verdict_facts *facts, const struct cella_limits *limits,
                              enum cella_status status, struct violation ret[VIOLATIONS_OF_LIMITS]);

/* Sets the violation for INIT_UNREACHED. */
void violation_of_no_network(struct violation *ret);

/* Sets the last entry of a list that omits `more` violations. */
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
