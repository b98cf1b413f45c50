/* image/registry/document.c -- documents of a registry, collected in memory up to a maximum size. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "image/registry/request.h"
#include "image/unpack/digest.h"

#define STEP ((size_t)64 << 10)

void document_done(struct document *document)
{
        if (document->text) /* it may be a token */
                explicit_bzero(document->text, document->len);
        free(TAKE(document->text));
        document->len = 0;
}

static void registry_document_begin(void *arg, uint64_t *ret_from)
{
        const struct request *r = arg;
        *ret_from = 0;
        r->gathering.to->len = 0;
}

/* Memory grows with the received data, not with the announced length; one byte is for the NUL. */
static int registry_document_make_room(struct request *r, size_t len)
{
        if (len < r->gathering.size)
                return 0;
        size_t size = (len / STEP + 1) * STEP * 2;
        char *text = realloc(r->gathering.to->text, size);
        if (!text)
                return -ENOMEM;
        r->gathering.to->text = text;
        r->gathering.size = size;
        return 0;
}

static int registry_document_add(void *arg, const struct download_answer *answer, const char *data,
                                 size_t len, struct cella_err *err)
{
        struct request *r = arg;
        struct document *d = r->gathering.to;
        (void)answer;
        if (len > r->gathering.max - d->len)
                return err_say(err, CELLA_TOO_LARGE, -EFBIG,
                               "the registry sends a document of more than %zu bytes", r->gathering.max);
        if (registry_document_make_room(r, d->len + len) < 0)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "a document of the registry");
        if (len > 0)
                memcpy(d->text + d->len, data, len);
        d->len += len;
        return 0;
}

int request_document(struct request *r, size_t max, struct document *ret, struct cella_err *err)
{
        char hex[DIGEST_HEX + 1];
        document_done(ret);
        r->begin = registry_document_begin;
        r->sink = registry_document_add;
        r->arg = r;
        r->gathering.to = ret;
        r->gathering.size = 0;
        r->gathering.max = max;
        r->document_ms = DOWNLOAD_DOCUMENT_MS;
        int e = request_wait(r, err);
        if (e < 0)
                return e;
        if (registry_document_make_room(r, ret->len) < 0 || digest_of(ret->text, ret->len, hex) < 0)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "a document of the registry");
        ret->text[ret->len] = '\0';
        memcpy(ret->type, r->download->answer.type, sizeof ret->type);
        memcpy(ret->said_digest, r->download->answer.digest, sizeof ret->said_digest);
        snprintf(ret->digest, sizeof ret->digest, "sha256:%s", hex);
        return 0;
}
