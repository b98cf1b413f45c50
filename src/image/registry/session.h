/* image/registry/session.h -- one registry, one repository of it, for one pull: where it is and who we are
 * there. */
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
        char *origin; /* https://host:port; credentials go nowhere else, but to its token service */
        char *base;   /* what paths are put behind */
        struct challenge challenge;
        char *authorization; /* what is sent along now, or NULL */
        unsigned generation; /* of that: another number is another token */
        int64_t until_us;    /* it is good until then; 0: for ever */
        /* Called after an answer 401, and when the authorization expires: sets another one.  -ENOKEY, without
         * a message, if there are no credentials for this challenge. */
        int (*authorize)(struct session *s, const struct challenge *challenge, struct cella_err *err);
};

/* A text that came; there is a NUL behind it. */
struct document {
        char *text;
        size_t len;
        char type[128];
        char digest[REFERENCE_DIGEST_SIZE];      /* computed */
        char said_digest[REFERENCE_DIGEST_SIZE]; /* what the registry said it was */
};

void document_done(struct document *document);

static inline void document_done_auto(struct document *document)
{
        document_done(document);
}
