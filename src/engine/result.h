/* engine/result.h -- writes the result of an execution as JSON, for all interfaces. */
#pragma once
#include "base/json.h"
#include "cella.h"

enum {
        RESULT_BASE64 = 1u << 0,         /* stdout and stderr as base64 */
        RESULT_WITHOUT_OUTPUT = 1u << 1, /* they were streamed */
};

/* Additional fields of a run in a context, or the results of a command.  results and error are JSON text. */
struct result_run {
        bool command;        /* not in a context: only the results are set */
        const char *context; /* its id; NULL: it ended with the run */
        const char *const *results;
        const size_t *result_lens;
        size_t n_results;
        bool results_truncated; /* there were more */
        const char *error;      /* NULL: no uncaught error */
        size_t error_len;
};

/* Fields that are not in struct cella_result. */
struct result_about {
        const char *runtime; /* NULL: a command */
        const struct cella_isolation *isolation;
        bool host;                    /* it ran on the host, not in a sandbox */
        const char *reason;           /* why it ran there or not; NULL: there was no choice */
        const struct result_run *run; /* NULL: neither in a context nor with results */
        /* Writes further members of the object; NULL: none. */
        void (*more)(struct json *json, const void *of);
        const void *of;
};

void result_write(struct json *json, const struct cella_result *result, const struct result_about *about,
                  unsigned flags);

/* Writes the first violations of a result as the array `name`. */
void result_write_violations(struct json *json, const char *name, const struct cella_result *result,
                             size_t max);

/* Names the walls and the missing limits.  walls: enum wall, and ISOLATION_*; missing: CELLA_LIMIT_* that
 * this host cannot enforce. */
void isolation_fill(uint32_t walls, uint32_t missing, struct cella_isolation *ret);

/* In walls: the engine that made them, if it was not the native one. */
#define ISOLATION_DOCKER (1u << 30)
#define ISOLATION_PODMAN (1u << 31)
