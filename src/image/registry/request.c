#include "image/registry/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"

#define BACKOFF_MS 250
#define WAIT_AT_ONCE_MAX_S 30

void request_done(struct request *r)
{
        r->download = download_free(r->download);
        free(TAKE(r->at));
        free(TAKE(r->origin));
}

/* Sets the URL of the next attempt. */
static int go_to(struct request *r, const char *from, const char *to, struct cella_err *err)
{
        char *at, *origin;
        int e = download_check(&r->session->rules, from, to, &at, &origin, err);
        if (e < 0)
                return e;
        free(r->at);
        free(r->origin);
        r->at = at;
        r->origin = origin;
        return 0;
}

static int go_to_first(struct request *r, struct cella_err *err)
{
        char whole[DOWNLOAD_URL_MAX];
        if (r->url)
                return go_to(r, NULL, r->url, err);
        snprintf(whole, sizeof whole, "%s%s", r->session->base, r->path);
        return go_to(r, NULL, whole, err);
}

/* Returns the authorization for the URL of the attempt, or NULL. */
static const char *authorization(const struct request *r)
{
        if (r->url)
                return r->hops == 0 ? r->authorization : NULL;
        return strcmp(r->origin, r->session->origin) == 0 ? r->session->authorization : NULL;
}

static int registry_request_start(struct request *r, struct cella_err *err)
{
        struct session *s = r->session;
        if (!r->at) {
                int e = go_to_first(r, err);
                if (e < 0)
                        return e;
        }
        /* Renew a token that expires soon. */
        if (!r->url && s->until_us && clock_us() >= s->until_us) {
                int e = s->authorize(s, &s->challenge, err);
                if (e < 0)
                        return e;
        }
        struct download_request request = {
                .url = r->at,
                .accept = r->accept,
                .authorization = authorization(r),
                .post = r->post,
                .head = r->head,
                .document_ms = r->document_ms,
                .sink = r->sink,
                .arg = r->arg,
        };
        if (r->begin)
                r->begin(r->arg, &request.from);
        r->generation = s->generation;
        return download_start(s->downloads, &request, &r->download, err);
}

/* Starts again with the original URL: a redirect may be valid only for a short time. */
static int registry_request_again(struct request *r, int64_t wait_us)
{
        request_done(r);
        r->hops = 0;
        r->not_before_us = clock_us() + wait_us;
        return 0;
}

/* Tries again after a failure, if it may help. */
static int try_again(struct request *r)
{
        unsigned max = r->attempts_max ? r->attempts_max : REQUEST_ATTEMPTS_MAX;
        if (r->download->body > 0) {
                r->attempts = 0;
                /* a token may expire several times during the download of a large layer */
                r->authorized = false;
        }
        if (++r->attempts >= max || ++r->attempts_in_all >= REQUEST_ATTEMPTS_IN_ALL_MAX)
                return -EAGAIN;
        return registry_request_again(r, (int64_t)BACKOFF_MS * 1000 << (r->attempts - 1));
}

static int redirected(struct request *r, struct cella_err *err)
{
        const char *to = r->download->answer.location;
        if (!to || r->post)
                return request_refused(r, err);
        if (++r->hops > REQUEST_HOPS_MAX)
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -ELOOP, "%s redirects too often",
                               r->session->host);
        int e = go_to(r, r->at, to, err);
        r->download = download_free(r->download);
        return e;
}

static int unauthorized(struct request *r, struct cella_err *err)
{
        struct session *s = r->session;
        bool ours = !r->url && strcmp(r->origin, s->origin) == 0;
        if (r->anyone)
                return 1;
        if (!ours || r->authorized)
                return request_refused(r, err);
        r->authorized = true;
        if (r->generation == s->generation) { /* otherwise another request has already got a new token */
                struct challenge challenge = r->download->answer.challenge;
                if (challenge.scheme == CHALLENGE_NONE)
                        return request_refused(r, err);
                if (r->generation > 0 && challenge.scheme == CHALLENGE_BASIC)
                        /* the same name and password would be refused again */
                        return request_refused(r, err);
                int e = s->authorize(s, &challenge, err);
                if (e == -ENOKEY)
                        return request_refused(r, err);
                if (e < 0)
                        return e;
        }
        return registry_request_again(r, 0);
}

static int limited(struct request *r, struct cella_err *err)
{
        unsigned wait = r->download->answer.retry_after;
        if (wait == 0)
                return try_again(r) < 0 ? request_refused(r, err) : 0;
        r->waited_s += wait;
        if (wait > WAIT_AT_ONCE_MAX_S || r->waited_s > REQUEST_WAIT_MAX_S)
                return request_refused(r, err);
        return registry_request_again(r, (int64_t)wait * 1000000);
}

/* Our offset is behind the end of the data: the sink gets nothing, and handles it. */
static int out_of_range(struct request *r, struct cella_err *err)
{
        int e = r->sink ? r->sink(r->arg, &r->download->answer, NULL, 0, err) : -EIO;
        if (e == 0)
                e = try_again(r);
        return e < 0 ? request_refused(r, err) : 0;
}

static int registry_request_answered(struct request *r, struct cella_err *err)
{
        long status = r->download->answer.status;
        switch (status) {
        case 200:
        case 206:
                return 1;
        case 301:
        case 302:
        case 303:
        case 307:
        case 308:
                return redirected(r, err);
        case 401:
                return unauthorized(r, err);
        case 416:
                return out_of_range(r, err);
        case 429:
                return limited(r, err);
        default:
                if (status >= 500 && try_again(r) == 0)
                        return 0;
                return request_refused(r, err);
        }
}

int request_advance(struct request *r, struct cella_err *err)
{
        if (!r->download)
                return clock_us() < r->not_before_us ? 0 : registry_request_start(r, err);
        if (!r->download->done)
                return 0;
        if (r->download->result == 0)
                return registry_request_answered(r, err);
        struct cella_err why = r->download->err;
        bool retry = r->download->retry && !(r->once && why.num == -ECONNREFUSED);
        if (retry && try_again(r) == 0)
                return 0;
        *err = why;
        return why.num;
}

int request_wait(struct request *r, struct cella_err *err)
{
        for (;;) {
                int e = request_advance(r, err);
                if (e != 0)
                        return e < 0 ? e : 0;
                e = downloads_step(r->session->downloads, 100, err);
                if (e < 0)
                        return e;
        }
}
