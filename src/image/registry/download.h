/* image/registry/download.h -- HTTP downloads with the restrictions for registries.
 *
 * libcurl does the work; this module sets the rules.  Redirects are not followed automatically, so that
 * each URL is checked and credentials are sent only to their own host.  All input is limited: headers,
 * error bodies, the time to connect, the time without data.  One thread; other threads may call
 * downloads_wake(). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "image/registry/download_types.h"

struct imager_job;

struct download_request {
        const char *url;           /* accepted by download_check() */
        const char *accept;        /* NULL: anything */
        const char *authorization; /* value of the header, or NULL */
        const char *post;          /* a form; NULL: GET */
        bool head;
        uint64_t from;        /* request the bytes from this offset on */
        unsigned document_ms; /* total time limit; 0: none, as long as data arrives */
        download_sink *sink;  /* NULL: no body is expected */
        void *arg;
};

struct downloads; /* opaque: connections and active downloads */

int downloads_new(struct imager_job *job, const struct download_rules *rules, struct downloads **ret,
                  struct cella_err *err);
struct downloads *downloads_free(struct downloads *d); /* call it after freeing its downloads */
DEFINE_AUTO(struct downloads *, downloads_free)

/* Processes all downloads; waits up to this time (at most 100 ms) for an event.  -ECANCELED. */
int downloads_step(struct downloads *d, unsigned wait_ms, struct cella_err *err);
void downloads_wake(struct downloads *d);

int download_start(struct downloads *d, const struct download_request *request, struct download **ret,
                   struct cella_err *err);
struct download *download_free(struct download *download); /* also stops it */
DEFINE_AUTO(struct download *, download_free)

/* Checks whether a URL is allowed: https, or http if the rules permit it; without a user name.  from: base of
 * a relative URL, or NULL.  *ret is the complete URL, *ret_origin its scheme, host and port; the caller frees
 * both. */
int download_check(const struct download_rules *rules, const char *from, const char *to, char **ret,
                   char **ret_origin, struct cella_err *err);
