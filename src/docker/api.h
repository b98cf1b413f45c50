/* docker/api.h -- one request to the engine's API: HTTP over its Unix socket.
 *
 * Every call waits for its answer, up to patience_s seconds.  A caller that must not wait uses a thread
 * (job.h). */
#pragma once
#include <stddef.h>

#include "base/auto.h"
#include "cella.h"

#define API_ANSWER_MAX (8u << 20)
#define API_PATIENCE_S 30     /* for fast operations, even on a busy machine */
#define API_LOOK_PATIENCE_S 5 /* to find out whether an engine answers */
#define API_PULL_PATIENCE_S 1800

struct docker_api_answer {
        int status; /* HTTP status */
        char *text; /* terminated by a NUL; free() */
        size_t len;
        bool podman;  /* the headers say so */
        char api[16]; /* version of the API in the headers; "": none */
};

static inline bool docker_api_succeeded(const struct docker_api_answer *answer)
{
        return answer->status >= 200 && answer->status < 300;
}

void docker_api_answer_done(struct docker_api_answer *answer);
DEFINE_AUTO_DONE(struct docker_api_answer, docker_api_answer_done)

/* Call once, before threads are started. */
int docker_api_init(void);

/* Returns 0 for any answer, which the caller releases.  Otherwise CELLA_ENGINE_UNAVAILABLE, with a message
 * for the operator.  body: JSON; NULL: none.  An answer longer than API_ANSWER_MAX is an error; with
 * tail_only the last 64 KiB are kept. */
struct docker_api_request {
        const char *socket, *method, *path, *body;
        unsigned patience_s;
        bool tail_only;
};

int docker_api_call(const struct docker_api_request *request, struct docker_api_answer *ret,
                    struct cella_err *err);

/* Escapes a part of a path or query as %XX.  Returns 0 or -ENAMETOOLONG. */
int docker_api_escape(const char *text, char *ret, size_t size);
