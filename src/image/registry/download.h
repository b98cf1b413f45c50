/* image/registry/download.h -- HTTP, as we let registries have it.
 *
 * libcurl does the work; here are the rules.  Redirects are never followed by themselves, so that each
 * address is looked at and credentials stay with who they are for.  Everything that comes is bounded:
 * headers, bodies that are only errors, the time to connect, the time without bytes.  One thread;
 * downloads_wake() may come from others. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "image/registry/download_types.h"

struct imager_job;

struct download_request {
        const char *url;           /* that download_check() let through */
        const char *accept;        /* NULL: anything */
        const char *authorization; /* the header's value, or NULL */
        const char *post;          /* a form; NULL: GET */
        bool head;
        uint64_t from;        /* ask for the bytes from here on */
        unsigned document_ms; /* it has to be done by then; 0: as long as bytes come */
        download_sink *sink;  /* NULL: nothing is expected */
        void *arg;
};

struct downloads; /* opaque: connections, and what is under way */

int downloads_new(struct imager_job *job, const struct download_rules *rules, struct downloads **ret,
                  struct cella_err *err);
struct downloads *downloads_free(struct downloads *d); /* after each of its downloads */
DEFINE_AUTO(struct downloads *, downloads_free)

/* Moves everything on, and waits for at most so long (100 ms) or until something happened.  -ECANCELED. */
int downloads_step(struct downloads *d, unsigned wait_ms, struct cella_err *err);
void downloads_wake(struct downloads *d);

int download_start(struct downloads *d, const struct download_request *request, struct download **ret,
                   struct cella_err *err);
struct download *download_free(struct download *download); /* ends it, too */
DEFINE_AUTO(struct download *, download_free)

/* Waits until it is done.  Returns its result, or -ECANCELED. */
int download_wait(struct downloads *d, struct download *download, struct cella_err *err);

/* Whether we may go there at all: https, or http where the rules let us; no user in it.  from: what it is
 * relative to, or NULL.  *ret is the whole address, *ret_origin scheme, host and port of it; the caller frees
 * both. */
int download_check(const struct download_rules *rules, const char *from, const char *to, char **ret,
                   char **ret_origin, struct cella_err *err);
