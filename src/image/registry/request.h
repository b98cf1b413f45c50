/* image/registry/request.h -- one thing asked of a registry, until it is there or there is no hope.
 *
 * Follows redirects, answers 401 with credentials, waits where it is told to, tries again what was cut off.
 * It never blocks, but for a new token. */
#pragma once
#include "image/registry/session.h"

#define REQUEST_HOPS_MAX 5
#define REQUEST_ATTEMPTS_MAX 5         /* without a byte between them */
#define REQUEST_ATTEMPTS_IN_ALL_MAX 64 /* with some */
#define REQUEST_WAIT_MAX_S 60          /* for a registry that limits us, in all */

struct request {
        /* Filled in by who asks: */
        struct session *session;
        const char *what; /* "layer sha256:0123...", for messages */
        const char *path; /* of the registry; or */
        const char *url;  /* a whole address, with its own authorization: a token service's */
        const char *authorization;
        const char *accept, *post;
        unsigned document_ms, attempts_max; /* 0: REQUEST_ATTEMPTS_MAX */
        bool head;
        bool once;   /* a failure to connect is the end; it may be about the address */
        bool anyone; /* 401 is an answer, too */
        /* Called before each attempt: *ret_from is what it is to begin with. */
        void (*begin)(void *arg, uint64_t *ret_from);
        download_sink *sink;
        void *arg;

        /* Its own: */
        struct download *download; /* when it is done: the answer */
        char *at, *origin;
        unsigned hops, attempts, attempts_in_all, waited_s, generation;
        bool authorized; /* there was a new token since bytes came */
        int64_t not_before_us;
        struct { /* of request_document() */
                struct document *to;
                size_t size, max;
        } gathering;
};

/* 1: it is there, 0: not yet; call again after downloads_step().  On -errno there is no hope. */
int request_advance(struct request *r, struct cella_err *err);
/* Until it is there. */
int request_wait(struct request *r, struct cella_err *err);
/* When it may go on, if it waits for its time: microseconds of clock_us(); else 0. */
int64_t request_due(const struct request *r);
void request_done(struct request *r);

static inline void request_done_auto(struct request *r)
{
        request_done(r);
}

/* The same for a text, at most `max` bytes of it: begin, sink and arg are filled in here. */
int request_document(struct request *r, size_t max, struct document *ret, struct cella_err *err);

/* What a registry's refusal means (registry_refusal.c).  Returns -errno. */
int request_refused(const struct request *r, struct cella_err *err);
