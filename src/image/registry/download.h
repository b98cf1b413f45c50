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
#include "image/registry/challenge.h"
#include "image/store/reference.h"

#define DOWNLOAD_URL_MAX 16384
#define DOWNLOAD_HEADERS_MAX 65536 /* bytes of all headers of one answer */
#define DOWNLOAD_CONNECT_MS 15000
#define DOWNLOAD_STALL_MS 30000
#define DOWNLOAD_DOCUMENT_MS 60000 /* for what is no layer */
#define DOWNLOAD_SAID_SIZE 2048
#define DOWNLOAD_UNKNOWN UINT64_MAX

struct imager_job;

struct download_rules {
        const char *host;    /* of the registry, HOST or HOST:PORT, borrowed; NULL: none */
        bool insecure;       /* there, and only there, HTTP and unverified certificates are fine */
        bool loopback;       /* the registry is on this machine: HTTP is fine there, and no proxy is asked */
        unsigned connect_ms; /* 0: as above */
        unsigned stall_ms;
};

/* What the server said before the body. */
struct download_answer {
        long status;
        char type[128];                     /* Content-Type, without parameters */
        char digest[REFERENCE_DIGEST_SIZE]; /* Docker-Content-Digest; empty if it is none that we know */
        uint64_t length;                    /* Content-Length, or DOWNLOAD_UNKNOWN */
        bool has_range;                     /* Content-Range was there, and well-formed: */
        uint64_t range_from, range_total;   /* total: or DOWNLOAD_UNKNOWN */
        unsigned retry_after;               /* seconds; 0: not said */
        struct challenge challenge;
        char *location; /* NULL: none */
};

/* Takes bytes of the body of an answer 200 or 206.  -errno with *err ends it. */
typedef int download_sink(void *arg, const struct download_answer *answer, const char *data, size_t len,
                          struct cella_err *err);

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

struct download { /* read only */
        bool done;
        int result;  /* when done: 0 (there is an answer, whatever its status) or -errno with err */
        bool retry;  /* it failed in a way that may be better next time */
        bool no_tls; /* the other side does not speak TLS */
        struct cella_err err;
        struct download_answer answer;
        char said[DOWNLOAD_SAID_SIZE]; /* the beginning of a body that was an error */
        uint64_t body;                 /* bytes that the sink got */
};

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
