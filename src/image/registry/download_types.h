/* image/registry/download_types.h -- the types of download.h, which its parts share. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
