/* image/registry/refusal.c -- explains refusals of a registry to the user. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/foreign_json.h"
#include "image/registry/request.h"

#define VALUES_MAX 256

/* Copies the registry's own message: {"errors":[{"code":..,"message":..}]}; "" if the body has another
 * form. */
static void own_words(const struct request *r, char *ret, size_t size)
{
        const char *text = r->download->said;
        AUTO(json_decref) json_t *top = foreign_json_parse(text, strlen(text), VALUES_MAX, 0, NULL);
        const json_t *first = json_array_get(json_object_get(top, "errors"), 0);
        const char *message = foreign_json_get_text(first, "message"),
                   *code = foreign_json_get_text(first, "code");
        ret[0] = '\0';
        if (!message || !message[0])
                message = code;
        if (message && message[0])
                snprintf(ret, size, ": %.70s", message);
}

static int no_access(const struct request *r, const char *words, struct cella_err *err)
{
        const struct session *s = r->session;
        const struct credentials *c = s->credentials;
        bool known = c && (c->username[0] || c->identitytoken[0]);
        err_say(err, CELLA_UNAUTHORIZED, -EACCES, "%s does not allow %s to pull %.60s%s", s->host,
                known && c->username[0] ? c->username
                : known                 ? "you"
                                        : "anonymous users",
                s->reference.repository, words);
        if (known)
                err_hint(err, "are name and password right, and may this user pull it? docker login %s",
                         s->reference.registry);
        else if (c && c->helper[0])
                err_hint(err,
                         "docker's configuration refers to docker-credential-%s, which Cella does not run; "
                         "store the password with docker login instead",
                         c->helper);
        else
                err_hint(err, "is the name right? If so: docker login %s", s->reference.registry);
        return -EACCES;
}

static int not_there(const struct request *r, const char *words, struct cella_err *err)
{
        char name[REFERENCE_SIZE];
        reference_write(&r->session->reference, name);
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "%s has no such %.40s: %.110s%s", r->session->host, r->what,
                name, words);
        err_hint(err, "are name and tag right?");
        return -ENOENT;
}

static int too_often(const struct request *r, const char *words, struct cella_err *err)
{
        unsigned after = r->download->answer.retry_after;
        char when[40] = "later";
        if (after > 0)
                snprintf(when, sizeof when, "in %u s", after);
        err_say(err, CELLA_OVER_CAPACITY, -EBUSY, "%s limits the rate of pulls, and the limit is reached%s",
                r->session->host, words);
        err_hint(err, "try again %s; users that are logged in (docker login) may pull more", when);
        return -EBUSY;
}

int request_refused(const struct request *r, struct cella_err *err)
{
        char words[80];
        long status = r->download->answer.status;
        own_words(r, words, sizeof words);
        if (status == 401 || status == 403)
                return no_access(r, words, err);
        if (status == 404)
                return not_there(r, words, err);
        if (status == 429)
                return too_often(r, words, err);
        err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPROTO, "%s answers %ld where the %.40s should be%s",
                r->session->host, status, r->what, words);
        err_hint(err, status >= 500 ? "the registry has a problem: try again later" : "is it a registry?");
        return -EPROTO;
}
