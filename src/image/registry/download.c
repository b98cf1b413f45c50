#include "image/registry/download.h"

#include <curl/curl.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "image/imager.h"
#include "image/registry/download_internal.h"

#define STEP_MS 100
#define CONNECTIONS_MAX 16
#define ERROR_BODY_MAX 65536 /* maximum of an error body; then the connection is closed */

/* ---- all downloads ---- */

static CURLcode global = CURLE_FAILED_INIT;

static void init_global(void)
{
        global = curl_global_init(CURL_GLOBAL_DEFAULT);
}

int downloads_new(struct imager_job *job, const struct download_rules *rules, struct downloads **ret,
                  struct cella_err *err)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, init_global);
        struct downloads *d = calloc(1, sizeof *d);
        if (d && global == CURLE_OK)
                d->multi = curl_multi_init();
        if (!d || !d->multi) {
                free(d);
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "HTTP client");
        }
        d->job = job;
        d->rules = *rules;
        if (d->rules.connect_ms == 0 || d->rules.connect_ms > DOWNLOAD_CONNECT_MS)
                d->rules.connect_ms = DOWNLOAD_CONNECT_MS;
        if (d->rules.stall_ms == 0 || d->rules.stall_ms > DOWNLOAD_STALL_MS)
                d->rules.stall_ms = DOWNLOAD_STALL_MS;
        list_init(&d->under_way);
        curl_multi_setopt(d->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)CONNECTIONS_MAX);
        *ret = d;
        return 0;
}

struct downloads *downloads_free(struct downloads *d)
{
        if (!d)
                return NULL;
        curl_multi_cleanup(d->multi);
        free(d);
        return NULL;
}

void downloads_wake(struct downloads *d)
{
        curl_multi_wakeup(d->multi);
}

/* Ends a download that is complete, or that we stop. */
static void download_finish(struct transfer *t, CURLcode code)
{
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->public.answer.status);
        t->public.done = true;
        download_judge(t, code);
        curl_multi_remove_handle(t->all->multi, t->easy);
        list_remove(&t->entry);
}

/* Stops a download that is too slow.  libcurl's own limit uses seconds, and counts only bytes of the body. */
static void download_watch(struct transfer *t, int64_t now)
{
        if (t->deadline_us && now >= t->deadline_us) {
                t->too_slow = true;
                download_finish(t, CURLE_OPERATION_TIMEDOUT);
        } else if (now >= t->window_us + (int64_t)t->all->rules.stall_ms * 1000) {
                t->too_slow = t->window_bytes < t->all->rules.stall_ms; /* one kilobyte per second */
                t->window_us = now;
                t->window_bytes = 0;
                if (t->too_slow)
                        download_finish(t, CURLE_OPERATION_TIMEDOUT);
        }
}

static struct transfer *transfer_of(CURL *easy)
{
        char *pointer = NULL;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &pointer);
        return (struct transfer *)(void *)pointer;
}

int downloads_step(struct downloads *d, unsigned wait_ms, struct cella_err *err)
{
        int running, left;
        struct CURLMsg *message;
        int e = job_cancelled(d->job, err);
        if (e < 0)
                return e;
        curl_multi_perform(d->multi, &running);
        bool any = false;
        while ((message = curl_multi_info_read(d->multi, &left)))
                if (message->msg == CURLMSG_DONE) {
                        download_finish(transfer_of(message->easy_handle), message->data.result);
                        any = true;
                }
        int64_t now = clock_us();
        list_each (at, &d->under_way, after) {
                struct transfer *t = list_entry(at, struct transfer, entry);
                download_watch(t, now);
                any = any || t->public.done;
        }
        if (!any)
                curl_multi_poll(d->multi, NULL, 0, (int)(wait_ms < STEP_MS ? wait_ms : STEP_MS), NULL);
        return 0;
}

/* ---- one download ---- */

static size_t download_on_body(char *data, size_t size, size_t n, void *arg)
{
        struct transfer *t = arg;
        size_t len = size * n;
        t->window_bytes += len;
        curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &t->public.answer.status);
        if ((t->public.answer.status == 200 || t->public.answer.status == 206) && t->sink) {
                if (t->sink(t->arg, &t->public.answer, data, len, &t->public.err) < 0) {
                        t->sink_failed = true;
                        return 0;
                }
                t->public.body += len;
                return len;
        }
        size_t room = sizeof t->public.said - 1 - t->said_len, keep = len < room ? len : room;
        memcpy(t->public.said + t->said_len, data, keep);
        t->said_len += keep;
        t->unwanted += len;
        if (t->unwanted > ERROR_BODY_MAX) {
                t->enough = true;
                return 0;
        }
        return len;
}

static bool add_header(struct transfer *t, const char *name, const char *value)
{
        size_t len = strlen(name) + strlen(value) + 3;
        char *line = malloc(len);
        if (!line)
                return false;
        snprintf(line, len, "%s: %s", name, value);
        struct curl_slist *more = curl_slist_append(t->headers, line);
        explicit_bzero(line, len);
        free(line);
        if (more)
                t->headers = more;
        return more != NULL;
}

/* Sets the common options.  Returns false if one fails, because a rule would not be enforced then. */
static bool set_rules(struct transfer *t, const char *url)
{
        const struct download_rules *rules = &t->all->rules;
        const bool insecure = download_is_insecure(rules, url);
        CURL *c = t->easy;
        return curl_easy_setopt(c, CURLOPT_PRIVATE, t) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)rules->connect_ms) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_SSL_VERIFYPEER, insecure ? 0L : 1L) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_SSL_VERIFYHOST, insecure ? 0L : 2L) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_NOPROXY, rules->loopback ? "*" : NULL) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_HTTP_CONTENT_DECODING, 0L) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_USERAGENT, "cella/" CELLA_VERSION) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->curl_said) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, download_on_body) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_WRITEDATA, t) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, download_on_header) == CURLE_OK &&
               curl_easy_setopt(c, CURLOPT_HEADERDATA, t) == CURLE_OK;
}

static bool set_request(struct transfer *t, const struct download_request *r)
{
        CURL *c = t->easy;
        char range[32];
        if (curl_easy_setopt(c, CURLOPT_URL, r->url) != CURLE_OK ||
            !add_header(t, "Accept", r->accept ? r->accept : "*/*"))
                return false;
        if (r->authorization && !add_header(t, "Authorization", r->authorization))
                return false;
        if (r->from > 0) {
                snprintf(range, sizeof range, "%llu-", (unsigned long long)r->from);
                if (curl_easy_setopt(c, CURLOPT_RANGE, range) != CURLE_OK)
                        return false;
        }
        if (r->head && curl_easy_setopt(c, CURLOPT_NOBODY, 1L) != CURLE_OK)
                return false;
        if (r->post && curl_easy_setopt(c, CURLOPT_COPYPOSTFIELDS, r->post) != CURLE_OK)
                return false;
        return curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers) == CURLE_OK;
}

int download_start(struct downloads *d, const struct download_request *request, struct download **ret,
                   struct cella_err *err)
{
        struct transfer *t = calloc(1, sizeof *t);
        if (!t)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "HTTP request");
        t->all = d;
        t->sink = request->sink;
        t->arg = request->arg;
        t->window_us = clock_us();
        t->deadline_us = request->document_ms ? t->window_us + (int64_t)request->document_ms * 1000 : 0;
        t->public.answer.length = t->public.answer.range_total = DOWNLOAD_UNKNOWN;
        list_init(&t->entry);
        t->easy = curl_easy_init();
        if (!t->easy || !set_rules(t, request->url) || !set_request(t, request) ||
            curl_multi_add_handle(d->multi, t->easy) != CURLM_OK) {
                download_free(&t->public);
                return err_say(err, CELLA_INTERNAL, -EIO, "the HTTP client refused a request");
        }
        list_add(&d->under_way, &t->entry);
        *ret = &t->public;
        return 0;
}

struct download *download_free(struct download *download)
{
        if (!download)
                return NULL;
        struct transfer *t = list_entry(download, struct transfer, public);
        if (t->easy) {
                curl_multi_remove_handle(t->all->multi, t->easy);
                curl_easy_cleanup(t->easy);
        }
        list_remove(&t->entry);
        for (struct curl_slist *line = t->headers; line; line = line->next)
                explicit_bzero(line->data, strlen(line->data)); /* they contain credentials */
        curl_slist_free_all(t->headers);
        free(t->public.answer.location);
        free(t);
        return NULL;
}
