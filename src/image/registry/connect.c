#include "image/registry/connect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "image/registry/request.h"
#include "image/registry/token.h"

#define PING_MAX 65536

int session_get(struct session *s, const char *path, const char *what, const char *accept, size_t max,
                bool head, struct document *ret, struct cella_err *err)
{
        AUTO(request_done)
        struct request r = {
                .session = s,
                .what = what,
                .path = path,
                .accept = accept,
                .attempts_max = head ? 1 : 3,
                .head = head,
        };
        return request_document(&r, max, ret, err);
}

/* ---- finding the registry ---- */

static int set_base(struct session *s, const char *scheme, struct cella_err *err)
{
        char base[REFERENCE_REGISTRY_SIZE + 16];
        snprintf(base, sizeof base, "%s://%s", scheme, s->host);
        free(TAKE(s->base));
        free(TAKE(s->origin));
        int e = download_check(&s->rules, NULL, base, &s->base, &s->origin, err);
        if (e < 0)
                return e;
        size_t len = strlen(s->base);
        if (len > 0 && s->base[len - 1] == '/')
                s->base[len - 1] = '\0';
        return 0;
}

/* Checks whether there is a registry.  An answer 401 also shows this. */
static int ping(struct session *s, bool *ret_no_tls, struct cella_err *err)
{
        AUTO(document_done) struct document ignored = {0};
        AUTO(request_done)
        struct request r = {
                .session = s,
                .what = "registry",
                .path = "/v2/",
                .attempts_max = 3,
                .once = true,
                .anyone = true,
        };
        int e = request_document(&r, PING_MAX, &ignored, err);
        *ret_no_tls = r.download && r.download->no_tls;
        if (e == 0 && r.download && r.download->answer.challenge.scheme != CHALLENGE_NONE) {
                e = s->authorize(s, &r.download->answer.challenge, err);
                return e == -ENOKEY ? 0 : e; /* anonymous access may still be allowed */
        }
        if (e == -ENOENT)
                err_say(err, CELLA_NOT_FOUND, e, "%s is not a registry of images: it has no /v2/", s->host);
        return e;
}

/* Uses TLS if the registry supports it, even if it is not required. */
static int registry_connect_find(struct session *s, struct cella_err *err)
{
        bool no_tls = false, plain = s->rules.insecure || s->rules.loopback;
        int e = set_base(s, "https", err);
        if (e == 0)
                e = ping(s, &no_tls, err);
        if (e == 0 || !plain || (!no_tls && e != -ECONNREFUSED && e != -ECONNRESET))
                return e;
        struct cella_err with_tls = *err;
        e = set_base(s, "http", err);
        if (e == 0)
                e = ping(s, &no_tls, err);
        if (e == -ECONNREFUSED && with_tls.num == -ECONNREFUSED)
                *err = with_tls;
        return e;
}

int registry_session_new(struct imager_job *job, const struct reference *reference,
                         const struct download_rules *rules, const struct credentials *credentials,
                         struct session **ret, struct cella_err *err)
{
        AUTO(session_free) struct session *s = calloc(1, sizeof *s);
        if (!s)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "a registry");
        s->rules = *rules;
        s->reference = *reference;
        s->credentials = credentials;
        s->authorize = token_authorize;
        s->host = s->rules.host = reference_host(&s->reference);
        s->rules.loopback = reference_host_is_loopback(s->host);
        int e = downloads_new(job, &s->rules, &s->downloads, err);
        if (e == 0)
                e = registry_connect_find(s, err);
        if (e < 0)
                return e;
        *ret = TAKE(s);
        return 0;
}

struct session *session_free(struct session *s)
{
        if (!s)
                return NULL;
        downloads_free(s->downloads);
        if (s->authorization)
                explicit_bzero(s->authorization, strlen(s->authorization));
        free(s->authorization);
        free(s->base);
        free(s->origin);
        free(s);
        return NULL;
}
