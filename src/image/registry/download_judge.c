/* image/registry/download_judge.c -- checks URLs, and explains failed downloads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "image/registry/download.h"
#include "image/registry/download_internal.h"

/* ---- allowed URLs ---- */

static void url_cleanup(CURLU *url)
{
        curl_url_cleanup(url);
}

static void curl_text_free(char *text)
{
        curl_free(text);
}

DEFINE_AUTO(CURLU *, url_cleanup)
DEFINE_AUTO(char *, curl_text_free)

static bool is_set(CURLU *url, CURLUPart part)
{
        char *text = NULL;
        bool set = curl_url_get(url, part, &text, 0) == CURLUE_OK;
        curl_free(text);
        return set;
}

static int download_judge_refuse(struct cella_err *err, const char *to, const char *why)
{
        size_t shown = strcspn(to, "?#"); /* the rest may be a secret */
        return err_say(err, CELLA_INVALID_REQUEST, -EPERM, "the registry sends us to '%.*s', %s",
                       (int)(shown < 100 ? shown : 100), to, why);
}

/* Compares with the registry of the reference: without a port, the default port of the scheme. */
static bool is_registry(const struct download_rules *rules, const char *scheme, const char *host,
                        const char *port)
{
        size_t len = strlen(host);
        if (!rules->host || strncasecmp(rules->host, host, len) != 0)
                return false;
        const char *rest = rules->host + len;
        if (rest[0] == '\0')
                return strcmp(port, strcmp(scheme, "http") == 0 ? "80" : "443") == 0;
        return rest[0] == ':' && strcmp(rest + 1, port) == 0;
}

bool download_is_insecure(const struct download_rules *rules, const char *text)
{
        AUTO(url_cleanup) CURLU *url = curl_url();
        AUTO(curl_text_free) char *scheme = NULL, *host = NULL, *port = NULL;
        return rules->insecure && url && curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
               curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
               curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
               curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
               is_registry(rules, scheme, host, port);
}

int download_check(const struct download_rules *rules, const char *from, const char *to, char **ret,
                   char **ret_origin, struct cella_err *err)
{
        AUTO(url_cleanup) CURLU *url = curl_url();
        AUTO(curl_text_free) char *scheme = NULL, *host = NULL, *port = NULL, *whole = NULL;
        if (!url)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "an address");
        if (strlen(to) >= DOWNLOAD_URL_MAX ||
            (from && curl_url_set(url, CURLUPART_URL, from, 0) != CURLUE_OK) ||
            curl_url_set(url, CURLUPART_URL, to, 0) != CURLUE_OK ||
            curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK ||
            curl_url_get(url, CURLUPART_HOST, &host, 0) != CURLUE_OK ||
            curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) != CURLUE_OK)
                return download_judge_refuse(err, to, "which is not an address of HTTP");
        bool plain = strcmp(scheme, "http") == 0;
        if (!plain && strcmp(scheme, "https") != 0)
                return download_judge_refuse(err, to, "which is neither http nor https");
        if (is_set(url, CURLUPART_USER) || is_set(url, CURLUPART_PASSWORD))
                return download_judge_refuse(err, to, "with a user's name in it");
        bool loopback = reference_host_is_loopback(host);
        bool insecure = rules->insecure && is_registry(rules, scheme, host, port);
        if (loopback && !rules->loopback && !insecure)
                return download_judge_refuse(err, to, "which is this machine");
        if (plain && !insecure && !loopback) {
                download_judge_refuse(err, to, "without TLS");
                err_hint(err, "if this network is to be trusted with it: insecure");
                return -EPERM;
        }
        curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
        if (curl_url_get(url, CURLUPART_URL, &whole, 0) != CURLUE_OK || strlen(whole) >= DOWNLOAD_URL_MAX)
                return download_judge_refuse(err, to, "which is too long");
        char *copy = strdup(whole), *origin = NULL;
        if (!copy || asprintf(&origin, "%s://%s:%s", scheme, host, port) < 0) {
                free(copy);
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "an address");
        }
        *ret = copy;
        *ret_origin = origin;
        return 0;
}

/* ---- errors ---- */

/* Writes the host and port of the server, or of the proxy that was used. */
static void where(struct transfer *t, char *ret, size_t size)
{
        AUTO(url_cleanup) CURLU *url = curl_url();
        AUTO(curl_text_free) char *host = NULL, *port = NULL;
        char *effective = NULL;
        curl_easy_getinfo(t->easy, CURLINFO_EFFECTIVE_URL, &effective);
        if (url && effective && curl_url_set(url, CURLUPART_URL, effective, 0) == CURLUE_OK)
                if (curl_url_get(url, CURLUPART_HOST, &host, 0) == CURLUE_OK)
                        curl_url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
        snprintf(ret, size, "%.120s:%s", host ? host : "?", port ? port : "?");
}

static int unreachable(struct transfer *t, const char *at, const char *hint)
{
        long num = 0; /* the system's error is shorter and more specific */
        curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &num);
        const char *why = num > 0           ? strerror((int)num)
                          : t->curl_said[0] ? t->curl_said
                                            : "the connection failed";
        err_say(&t->public.err, CELLA_ENGINE_UNAVAILABLE, -ECONNREFUSED, "cannot reach %s: %.100s", at, why);
        err_hint(&t->public.err, "%s", hint);
        return -ECONNREFUSED;
}

static int tls_problem(struct transfer *t, const char *at, CURLcode code)
{
        err_say(&t->public.err, CELLA_ENGINE_UNAVAILABLE, -EPROTO, "TLS with %s: %.120s", at,
                t->curl_said[0] ? t->curl_said : curl_easy_strerror(code));
        if (code == CURLE_PEER_FAILED_VERIFICATION)
                err_hint(&t->public.err, "add the certificate of the issuer to those of the system "
                                         "(update-ca-certificates), or allow insecure for this pull");
        else if (code == CURLE_SSL_CACERT_BADFILE)
                err_hint(&t->public.err, "the system has no certificates: apt-get install ca-certificates");
        else
                err_hint(&t->public.err, "a registry without TLS has to be on this machine, or insecure");
        return -EPROTO;
}

static int ended_by_us(struct transfer *t, const char *at)
{
        if (t->sink_failed)
                return t->public.err.num < 0 ? t->public.err.num : -EIO;
        if (t->big_headers)
                return err_say(&t->public.err, CELLA_TOO_LARGE, -EFBIG,
                               "%s sent headers of more than %d bytes", at, DOWNLOAD_HEADERS_MAX);
        t->public.retry = true;
        err_say(&t->public.err, CELLA_ENGINE_UNAVAILABLE, -ETIMEDOUT,
                "%s sends too slowly, or nothing at all", at);
        err_hint(&t->public.err, "try again later: what was downloaded is kept");
        return -ETIMEDOUT;
}

static int cut_off(struct transfer *t, const char *at, CURLcode code)
{
        t->public.retry = true;
        err_say(&t->public.err, CELLA_ENGINE_UNAVAILABLE, -ECONNRESET, "the connection to %s broke: %.100s",
                at, t->curl_said[0] ? t->curl_said : curl_easy_strerror(code));
        err_hint(&t->public.err, "try again: what was downloaded is kept");
        return -ECONNRESET;
}

static bool proxy_refused(const struct transfer *t)
{
        long status = 0;
        curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &status);
        return status >= 300;
}

static int download_judge_status(struct transfer *t, CURLcode code)
{
        char at[140];
        where(t, at, sizeof at);
        if (t->sink_failed || t->big_headers || t->too_slow)
                return ended_by_us(t, at);
        if (code != CURLE_OK && proxy_refused(t))
                code = CURLE_PROXY;
        switch (code) {
        case CURLE_OK:
                return 0;
        case CURLE_COULDNT_RESOLVE_HOST:
                t->public.retry = true;
                return unreachable(t, at, "is the name right, and does this machine's resolver know it?");
        case CURLE_COULDNT_RESOLVE_PROXY:
        case CURLE_PROXY:
                return unreachable(t, at, "HTTPS_PROXY, HTTP_PROXY and NO_PROXY say which proxy is asked");
        case CURLE_COULDNT_CONNECT:
                t->public.retry = true;
                return unreachable(t, at, "is the registry running, and is there a firewall or a proxy?");
        case CURLE_OPERATION_TIMEDOUT: /* only connecting has a timeout in libcurl */
                t->public.retry = true;
                return unreachable(t, at, "is the address right, and is there a firewall or a proxy?");
        case CURLE_SSL_CONNECT_ERROR:
                t->public.no_tls = true;
                return tls_problem(t, at, code);
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_SSL_CACERT_BADFILE:
        case CURLE_SSL_CIPHER:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_SSL_ISSUER_ERROR:
                return tls_problem(t, at, code);
        case CURLE_UNSUPPORTED_PROTOCOL:
        case CURLE_WEIRD_SERVER_REPLY:
                return err_say(&t->public.err, CELLA_ENGINE_UNAVAILABLE, -EPROTO,
                               "%s does not answer as HTTP does: %.100s", at, t->curl_said);
        case CURLE_OUT_OF_MEMORY:
                return err_set(&t->public.err, CELLA_INTERNAL, -ENOMEM, "HTTP");
        default:
                return cut_off(t, at, code);
        }
}

void download_judge(struct transfer *t, CURLcode code)
{
        if (t->enough) /* the answer was an error; the rest of its text is not needed */
                code = CURLE_OK;
        t->public.result = download_judge_status(t, code);
}
