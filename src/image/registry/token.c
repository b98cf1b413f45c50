/* image/registry/token.c -- authorization for a registry: a password, or a token of a token service.
 *
 * The token is only for pulling one repository, whatever the registry suggests.  A token service may be on
 * any host, but only with TLS, because it receives the password. */
#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/foreign_json.h"
#include "image/registry/request.h"
#include "image/registry/token.h"

#define ANSWER_MAX 65536
#define TOKEN_MAX 16384
#define VALUES_MAX 256
#define LIFE_S 60 /* lifetime of a token without one */
#define LIFE_MAX_S 86400
#define MARGIN_S 5

static int out_of_memory(struct cella_err *err)
{
        return err_set(err, CELLA_INTERNAL, -ENOMEM, "credentials");
}

static void token_wipe(char *text)
{
        if (text)
                explicit_bzero(text, strlen(text));
        free(text);
}

DEFINE_AUTO(char *, token_wipe)

/* Takes ownership of the text. */
static void use(struct session *s, char *authorization, int64_t until_us)
{
        token_wipe(s->authorization);
        s->authorization = authorization;
        s->generation++;
        s->until_us = until_us;
}

/* Returns the header's value for name and password, or NULL. */
static char *basic(const struct credentials *c)
{
        AUTO(token_wipe) char *plain = NULL;
        int len = asprintf(&plain, "%s:%s", c->username, c->password);
        if (len < 0) {
                plain = NULL;
                return NULL;
        }
        size_t before = strlen("Basic "), size = before + BASE64_LEN((size_t)len) + 1;
        char *value = calloc(1, size);
        if (value) {
                snprintf(value, size, "Basic ");
                base64_encode(plain, (size_t)len, value + before);
        }
        return value;
}

/* ---- getting a token ---- */

/* service=..&scope=..[&MORE] */
static char *query(const struct session *s, const char *more)
{
        char scope[REFERENCE_REPOSITORY_SIZE + 32], *text = NULL;
        snprintf(scope, sizeof scope, "repository:%s:pull", s->reference.repository);
        char *escaped_scope = curl_easy_escape(NULL, scope, 0);
        char *service = curl_easy_escape(NULL, s->challenge.service, 0);
        if (escaped_scope && service &&
            asprintf(&text, "service=%s&scope=%s%s", service, escaped_scope, more ? more : "") < 0)
                text = NULL;
        curl_free(escaped_scope);
        curl_free(service);
        return text;
}

/* Returns the form that exchanges the token of `docker login` for a new one. */
static char *refresh_form(const struct session *s)
{
        AUTO(token_wipe) char *more = NULL;
        char *token = curl_easy_escape(NULL, s->credentials->identitytoken, 0);
        if (!token ||
            asprintf(&more, "&grant_type=refresh_token&client_id=cella&refresh_token=%s", token) < 0)
                more = NULL;
        if (token)
                explicit_bzero(token, strlen(token));
        curl_free(token);
        return more ? query(s, more) : NULL;
}

/* Checks that it can be part of a header: printable, without spaces. */
static bool is_token(const char *text)
{
        size_t n = 0;
        while (text && text[n] > ' ' && text[n] <= '~')
                n++;
        return n > 0 && n <= TOKEN_MAX && text[n] == '\0';
}

static int take_token(struct session *s, const struct document *answer, struct cella_err *err)
{
        struct cella_err why = {0};
        char *value;
        int64_t life = LIFE_S;
        AUTO(json_decref) json_t *top = foreign_json_parse(answer->text, answer->len, VALUES_MAX, 0, &why);
        if (!top)
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPROTO, "the token service of %s: %s", s->host,
                               why.msg);
        const char *token = foreign_json_get_text(top, "token");
        if (!is_token(token))
                token = foreign_json_get_text(top, "access_token");
        if (!is_token(token))
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPROTO,
                               "the token service of %s returned no token", s->host);
        foreign_json_get_integer(top, "expires_in", &life);
        life = life < LIFE_S ? LIFE_S : life > LIFE_MAX_S ? LIFE_MAX_S : life;
        if (asprintf(&value, "Bearer %s", token) < 0)
                return out_of_memory(err);
        use(s, value, clock_us() + (life - MARGIN_S) * 1000000);
        return 0;
}

static int get_token(struct session *s, struct cella_err *err)
{
        const struct credentials *c = s->credentials;
        AUTO(token_wipe) char *form = NULL, *authorization = NULL, *text = NULL, *url = NULL;
        AUTO(document_done) struct document answer = {0};
        if (c && c->identitytoken[0]) {
                form = refresh_form(s);
                url = strdup(s->challenge.realm);
        } else {
                if (c && c->username[0] && !(authorization = basic(c)))
                        return out_of_memory(err);
                text = query(s, NULL);
                if (text && asprintf(&url, "%s%c%s", s->challenge.realm,
                                     strchr(s->challenge.realm, '?') ? '&' : '?', text) < 0)
                        url = NULL;
        }
        if (!url || (!form && c && c->identitytoken[0]))
                return out_of_memory(err);
        AUTO(request_done)
        struct request r = {
                .session = s,
                .what = "token",
                .url = url,
                .authorization = authorization,
                .post = form,
                .attempts_max = 3,
        };
        int e = request_document(&r, ANSWER_MAX, &answer, err);
        return e < 0 ? e : take_token(s, &answer, err);
}

int token_authorize(struct session *s, const struct challenge *challenge, struct cella_err *err)
{
        const struct credentials *c = s->credentials;
        if (challenge != &s->challenge)
                s->challenge = *challenge;
        if (challenge->scheme == CHALLENGE_BEARER)
                return get_token(s, err);
        if (challenge->scheme != CHALLENGE_BASIC || !c || !c->username[0])
                return -ENOKEY;
        char *value = basic(c);
        if (!value)
                return out_of_memory(err);
        use(s, value, 0);
        return 0;
}
