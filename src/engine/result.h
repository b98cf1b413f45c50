/* engine/result.h -- a result as JSON (INTERFACE section 2), for every interface that shows one. */
#pragma once
#include "base/json.h"
#include "cella.h"

enum {
        RESULT_BASE64 = 1u << 0,         /* stdout and stderr as base64 */
        RESULT_WITHOUT_OUTPUT = 1u << 1, /* they were streamed */
};

/* What a run in a context has besides; results and error are JSON already. */
struct result_run {
        const char *context; /* its id */
        const char *const *results;
        const size_t *result_lens;
        size_t n_results;
        bool results_truncated; /* there were more */
        const char *error;      /* NULL: none escaped */
        size_t error_len;
};

/* What is told besides what came of it. */
struct result_about {
        const char *runtime; /* NULL: a command */
        const struct cella_isolation *isolation;
        bool host;                    /* it ran on the host, not in a sandbox */
        const char *reason;           /* why there, or why not; NULL: there was no choice */
        const struct result_run *run; /* NULL: it was none */
        /* Further members of the object; NULL: none. */
        void (*more)(struct json *json, const void *of);
        const void *of;
};

void result_write(struct json *json, const struct cella_result *result, const struct result_about *about,
                  unsigned flags);

/* Names the walls and the missing limits.  walls: enum wall, and ISOLATION_*; missing: CELLA_LIMIT_* that
 * this host cannot enforce. */
void isolation_fill(uint32_t walls, uint32_t missing, struct cella_isolation *ret);

/* In walls: the engine that made them, if it was not the native one. */
#define ISOLATION_DOCKER (1u << 30)
#define ISOLATION_PODMAN (1u << 31)
