/* image/registry/download_types.h -- the types of download.h, shared by its parts. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cella.h"
#include "image/registry/challenge.h"
#include "image/store/reference.h"

#define DOWNLOAD_URL_MAX 16384
#define DOWNLOAD_HEADERS_MAX 65536 /* total bytes of the headers of one answer */
#define DOWNLOAD_CONNECT_MS 15000
#define DOWNLOAD_STALL_MS 30000
#define DOWNLOAD_DOCUMENT_MS 60000 /* time limit of documents, not of layers */
#define DOWNLOAD_SAID_SIZE 2048
#define DOWNLOAD_UNKNOWN UINT64_MAX

struct download_rules {
        const char *host;    /* of the registry, HOST or HOST:PORT, borrowed; NULL: none */
        bool insecure;       /* HTTP and unverified certificates are allowed for this host only */
        bool loopback;       /* the registry is on this machine: HTTP is allowed, and no proxy is used */
        unsigned connect_ms; /* 0: the default above */
        unsigned stall_ms;
};

/* The headers of an answer. */
struct download_answer {
        long status;
        char type[128];                     /* Content-Type, without parameters */
        char digest[REFERENCE_DIGEST_SIZE]; /* Docker-Content-Digest; "" if missing or of an unknown kind */
        uint64_t length;                    /* Content-Length, or DOWNLOAD_UNKNOWN */
        bool has_range;                     /* a valid Content-Range was received: */
        uint64_t range_from, range_total;   /* range_total: may be DOWNLOAD_UNKNOWN */
        unsigned retry_after;               /* seconds; 0: not given */
        struct challenge challenge;
        char *location; /* NULL: none */
};

/* Receives data of the body of an answer 200 or 206.  -errno with *err set stops the download. */
typedef int download_sink(void *arg, const struct download_answer *answer, const char *data, size_t len,
                          struct cella_err *err);

struct download { /* read only for users */
        bool done;
        int result;  /* when done: 0 (there is an answer, with any status) or -errno with err */
        bool retry;  /* another attempt may succeed */
        bool no_tls; /* the server does not use TLS */
        struct cella_err err;
        struct download_answer answer;
        char said[DOWNLOAD_SAID_SIZE]; /* the beginning of an error body */
        uint64_t body;                 /* bytes that were passed to the sink */
};
