#include "docker/api.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"

#define TAIL_MAX (64u << 10)

/* The received part of an answer. */
struct reader {
        char *text;
        size_t len, size, max;
        bool tail_only, failed;
        bool podman;
        char api[16];
};

void docker_api_answer_done(struct docker_api_answer *answer)
{
        free(answer->text);
        *answer = (struct docker_api_answer){0};
}

int docker_api_init(void)
{
        return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -ENOMEM;
}

static bool docker_api_grow(struct reader *r, size_t need)
{
        if (need <= r->size)
                return true;
        size_t size = need * 2 < r->max ? need * 2 : r->max;
        char *text = realloc(r->text, size + 1);
        if (!text)
                return false;
        r->text = text;
        r->size = size;
        return true;
}

static size_t docker_api_take(char *data, size_t one, size_t n, void *userdata)
{
        struct reader *r = userdata;
        const char *from = data;
        size_t given = n * one, len = given;
        if (r->tail_only && r->len + len > r->max) {
                size_t keep = len >= r->max ? 0 : r->max - len;
                if (len > r->max) {
                        from += len - r->max;
                        len = r->max;
                }
                if (keep < r->len)
                        memmove(r->text, r->text + (r->len - keep), keep);
                r->len = keep < r->len ? keep : r->len;
        }
        if (r->len + len > r->max || !docker_api_grow(r, r->len + len)) {
                r->failed = true;
                return 0;
        }
        memcpy(r->text + r->len, from, len);
        r->len += len;
        return given;
}

/* Copies the printable characters of a value without spaces. */
static void take_value(char *ret, size_t size, const char *from, size_t len)
{
        size_t n = 0;
        for (size_t i = 0; i < len && n < size - 1; i++)
                if (from[i] > ' ' && from[i] < 127)
                        ret[n++] = from[i];
        ret[n] = '\0';
}

static size_t docker_api_take_header(char *data, size_t one, size_t n, void *userdata)
{
        static const char api[] = "Api-Version:", podman[] = "Libpod-API-Version:";
        struct reader *r = userdata;
        size_t len = n * one;
        if (len > sizeof api && !strncasecmp(data, api, sizeof api - 1))
                take_value(r->api, sizeof r->api, data + sizeof api - 1, len - (sizeof api - 1));
        if (len > sizeof podman && !strncasecmp(data, podman, sizeof podman - 1))
                r->podman = true;
        return len;
}

static int explain_connect(const char *socket, int number, struct cella_err *err)
{
        if (number == EACCES || number == EPERM) {
                err_say(err, CELLA_ENGINE_UNAVAILABLE, -EACCES, "permission denied on %.150s", socket);
                return err_hint(err, "add the user that runs cella to the socket's group (usermod -aG docker "
                                     "USER) and log "
                                     "in again; or run Docker or Podman rootless, or use --engine native");
        }
        if (number == ENOENT || number == ECONNREFUSED || number == ENOTSOCK || number == ENOTDIR) {
                err_say(err, CELLA_ENGINE_UNAVAILABLE, -number, "docker not found: nothing answers at %.150s",
                        socket);
                return err_hint(err, "systemctl start docker (or: podman system service --time=0 &), set "
                                     "docker.socket, or "
                                     "use the engine native");
        }
        return err_set(err, CELLA_ENGINE_UNAVAILABLE, number > 0 ? -number : -EIO, "cannot connect to %.150s",
                       socket);
}

static int explain(CURL *curl, CURLcode code, const struct docker_api_request *q, const struct reader *r,
                   struct cella_err *err)
{
        long number = 0;
        curl_easy_getinfo(curl, CURLINFO_OS_ERRNO, &number);
        if (code == CURLE_COULDNT_CONNECT)
                return explain_connect(q->socket, (int)number, err);
        if (code == CURLE_OPERATION_TIMEDOUT) {
                err_say(err, CELLA_ENGINE_UNAVAILABLE, -ETIMEDOUT,
                        "the container engine at %.100s did not answer within %u s (%s)", q->socket,
                        q->patience_s, q->method);
                return err_hint(err, "look at its log: journalctl -u docker; restart it");
        }
        if (r->failed)
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -E2BIG,
                               "the container engine at %.100s answers without end", q->socket);
        err_say(err, CELLA_ENGINE_UNAVAILABLE, -EIO, "the container engine at %.100s broke off: %s",
                q->socket, curl_easy_strerror(code));
        return err_hint(err, "it may have been restarted: try again");
}

static void set_up(CURL *curl, const struct docker_api_request *q, const char *url,
                   struct curl_slist *headers, struct reader *r)
{
        curl_easy_setopt(curl, CURLOPT_URL, url);
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, q->socket);
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, q->method);
        curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
        curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)API_LOOK_PATIENCE_S);
        curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)q->patience_s);
        curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, docker_api_take);
        curl_easy_setopt(curl, CURLOPT_WRITEDATA, r);
        curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, docker_api_take_header);
        curl_easy_setopt(curl, CURLOPT_HEADERDATA, r);
        if (q->body) {
                curl_easy_setopt(curl, CURLOPT_POSTFIELDS, q->body);
                curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)strlen(q->body));
        }
}

int docker_api_call(const struct docker_api_request *q, struct docker_api_answer *ret, struct cella_err *err)
{
        struct reader r = {.max = q->tail_only ? TAIL_MAX : API_ANSWER_MAX, .tail_only = q->tail_only};
        char url[4096];
        long status = 0;
        if (snprintf(url, sizeof url, "http://engine%s", q->path) >= (int)sizeof url)
                return err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG,
                               "a name is too long for the container engine");
        CURL *curl = curl_easy_init();
        /* Without "Expect", which would cost a round trip. */
        struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
        struct curl_slist *more = headers ? curl_slist_append(headers, "Expect:") : NULL;
        int e = 0;
        if (!curl || !more || !docker_api_grow(&r, 1)) {
                e = err_set(err, CELLA_INTERNAL, -ENOMEM, "docker");
        } else {
                set_up(curl, q, url, headers, &r);
                CURLcode code = curl_easy_perform(curl);
                curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
                if (code != CURLE_OK)
                        e = explain(curl, code, q, &r, err);
        }
        curl_slist_free_all(headers);
        curl_easy_cleanup(curl);
        if (e < 0 || !r.text) {
                free(r.text);
                return e;
        }
        r.text[r.len] = '\0';
        *ret = (struct docker_api_answer){
                .status = (int)status, .text = r.text, .len = r.len, .podman = r.podman};
        memcpy(ret->api, r.api, sizeof ret->api);
        return 0;
}

int docker_api_escape(const char *text, char *ret, size_t size)
{
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
        size_t at = 0;
        for (; *text; text++) {
                if (at + 4 > size)
                        return -ENAMETOOLONG;
                if (strchr(plain, *text))
                        ret[at++] = *text;
                else
                        at += (size_t)snprintf(ret + at, 4, "%%%02X", (unsigned char)*text);
        }
        ret[at] = '\0';
        return 0;
}
