/* image/registry/session.h -- a session with one repository of a registry: address and authorization. */
#pragma once
#include <stdint.h>

#include "base/auto.h"
#include "image/registry/credentials.h"
#include "image/registry/download.h"
#include "image/store/reference.h"

struct session {
        struct downloads *downloads;
        struct download_rules rules;
        struct reference reference;
        const struct credentials *credentials; /* borrowed */
        const char *host;
        char *origin; /* https://host:port; credentials are sent only to it and to its token service */
        char *base;   /* prefix of paths */
        struct challenge challenge;
        char *authorization; /* current value of the header, or NULL */
        unsigned generation; /* number of the current token */
        int64_t until_us;    /* expiry of the token; 0: none */
        /* Called after an answer 401, and when the authorization expires: sets another one.  -ENOKEY, without
         * a message, if there are no credentials for this challenge. */
        int (*authorize)(struct session *s, const struct challenge *challenge, struct cella_err *err);
};

/* A received document, followed by a NUL. */
struct document {
        char *text;
        size_t len;
        char type[128];
        char digest[REFERENCE_DIGEST_SIZE];      /* computed */
        char said_digest[REFERENCE_DIGEST_SIZE]; /* according to the registry */
};

void document_done(struct document *document);

DEFINE_AUTO_DONE(struct document, document_done)
