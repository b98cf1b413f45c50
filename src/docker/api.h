/* docker/api.h -- one request to the engine's API: HTTP over its Unix socket.
 *
 * Every call waits for its answer, for at most as long as it is told; who must not wait calls from a thread
 * of its own (job.h). */
#pragma once
#include <stddef.h>

#include "cella.h"

#define API_ANSWER_MAX (8u << 20)
#define API_PATIENCE_S 30     /* for what an engine does at once, on however busy a machine */
#define API_LOOK_PATIENCE_S 5 /* for finding out whether one is there */
#define API_PULL_PATIENCE_S 1800

struct api_answer {
        int status; /* of HTTP */
        char *text; /* with a NUL after it; free() */
        size_t len;
        bool podman;  /* its headers say so */
        char api[16]; /* the version of the API, as they say; "": they do not */
};

static inline bool api_succeeded(const struct api_answer *answer)
{
        return answer->status >= 200 && answer->status < 300;
}

void api_answer_done(struct api_answer *answer);
static inline void api_answer_done_auto(struct api_answer *answer)
{
        api_answer_done(answer);
}

/* Once, before there are threads. */
int api_init(void);

/* 0 when there was an answer, whatever it says; free it.  Else CELLA_ENGINE_UNAVAILABLE, in words for who can
 * do something about it.  body: JSON; NULL: none.  Of an answer longer than API_ANSWER_MAX, and with
 * tail_only of one longer than 64 KiB, the end is kept. */
struct api_request {
        const char *socket, *method, *path, *body;
        unsigned patience_s;
        bool tail_only;
};

int api_call(const struct api_request *request, struct api_answer *ret, struct cella_err *err);

/* A part of a path or query with everything in it that means something there written as %XX; -ENAMETOOLONG.
 */
int api_escape(const char *text, char *ret, size_t size);
