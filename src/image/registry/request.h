/* image/registry/request.h -- one request to a registry, with retries until it succeeds or fails permanently.
 *
 * It follows redirects, answers 401 with credentials, waits if the registry requires it, and continues
 * interrupted downloads.  It never blocks, except to get a new token. */
#pragma once
#include "base/auto.h"
#include "image/registry/session.h"

#define REQUEST_HOPS_MAX 5
#define REQUEST_ATTEMPTS_MAX 5         /* without receiving a byte */
#define REQUEST_ATTEMPTS_IN_ALL_MAX 64 /* in total */
#define REQUEST_WAIT_MAX_S 60          /* in total, for a registry that limits the rate */

struct request {
        /* Set by the caller: */
        struct session *session;
        const char *what; /* "layer sha256:0123...", for messages */
        const char *path; /* on the registry; or */
        const char *url;  /* a complete URL with its own authorization: of a token service */
        const char *authorization;
        const char *accept, *post;
        unsigned document_ms, attempts_max; /* 0: REQUEST_ATTEMPTS_MAX */
        bool head;
        bool once;   /* a failure to connect is final, because the address may be wrong */
        bool anyone; /* 401 is also accepted as an answer */
        /* Called before each attempt; sets *ret_from to the offset to start at. */
        void (*begin)(void *arg, uint64_t *ret_from);
        download_sink *sink;
        void *arg;

        /* Private: */
        struct download *download; /* when done: the answer */
        char *at, *origin;
        unsigned hops, attempts, attempts_in_all, waited_s, generation;
        bool authorized; /* a new token was used since the last received byte */
        int64_t not_before_us;
        struct { /* used by request_document() */
                struct document *to;
                size_t size, max;
        } gathering;
};

/* Returns 1 when the answer is complete, 0 if not: call again after downloads_step().  -errno: it has failed
 * permanently. */
int request_advance(struct request *r, struct cella_err *err);
/* Waits until it is complete. */
int request_wait(struct request *r, struct cella_err *err);
void request_done(struct request *r);

DEFINE_AUTO_DONE(struct request, request_done)

/* The same for a document of at most `max` bytes; sets begin, sink and arg itself. */
int request_document(struct request *r, size_t max, struct document *ret, struct cella_err *err);

/* Sets *err to the meaning of the refusal (refusal.c).  Returns -errno. */
int request_refused(const struct request *r, struct cella_err *err);
