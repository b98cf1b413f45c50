/* engine/result.h -- a result as JSON (INTERFACE section 2), for every interface that shows one. */
#pragma once
#include "base/json.h"
#include "cella.h"

enum {
        RESULT_BASE64 = 1u << 0,         /* stdout and stderr as base64 */
        RESULT_WITHOUT_OUTPUT = 1u << 1, /* they were streamed */
};

/* Writes the object.  runtime may be NULL. */
void result_write(struct json *json, const struct cella_result *result, const char *runtime,
                  const struct cella_isolation *isolation, unsigned flags);

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

void result_write_run(struct json *json, const struct cella_result *result, const char *runtime,
                      const struct cella_isolation *isolation, unsigned flags, const struct result_run *run);
