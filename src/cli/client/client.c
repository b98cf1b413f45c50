/* cli/client/client.c -- see client.h.
 *
 * libcurl calls the callbacks while transfer_step() runs.  client_on_body() copies received data to a buffer
 * and pauses the transfer when the buffer is full.  on_upload() takes the data of client_write() and pauses
 * when there is none. */
#include "cli/client/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/foreign_json.h"
#include "base/parse.h"
#include "cli/client/address.h"
#include "cli/text.h"

#define ERROR_BODY_MAX 65536
#define IDLE_MS 120000
#define CONNECT_MS 5000
#define FOREVER INT64_MAX
#define WAIT_US INT64_C(60000000) /* maximum time of one wait */
#define BUFFER_SIZE (4 * CURL_MAX_WRITE_SIZE)

struct client {
        struct client_address to;
        int64_t idle_us;
        CURLM *multi;
        CURL *easy; /* NULL: no request in progress */
        struct curl_slist *headers;
        int fd; /* of the connection, owned by libcurl; -1: none */
        bool patient;

        const char *out; /* part of the request body that is not sent yet */
        size_t out_len;
        bool out_ended, out_paused;

        struct head head;
        bool done; /* the transfer has ended with this result: */
        CURLcode result;
        bool in_paused;
        unsigned moved; /* counts the callbacks */
        size_t at, fill;
        char buffer[BUFFER_SIZE];
};

/* ---- life ---- */

int client_new(const char *socket, struct client **ret, struct cella_err *err)
{
        AUTO(client_free) struct client *c = calloc(1, sizeof *c);
        const char *timeout = getenv("CELLA_TIMEOUT");
        uint64_t idle_ms = IDLE_MS;
        if (!c)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "client");
        c->fd = -1;
        int r = client_address_find(socket, &c->to, err);
        if (r == 0 && timeout && *timeout &&
            (parse_milliseconds(timeout, &idle_ms) < 0 || idle_ms == 0 || idle_ms > 86400000))
                r = err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                            "CELLA_TIMEOUT takes a time like 500ms, 5s or 2m, not '%.40s'", timeout);
        if (r < 0)
                return r;
        c->idle_us = (int64_t)idle_ms * 1000;
        /* Without need, TLS is not initialised: it takes milliseconds. */
        if (curl_global_init(c->to.tls ? CURL_GLOBAL_SSL : CURL_GLOBAL_NOTHING) != CURLE_OK ||
            !(c->multi = curl_multi_init()))
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "client");
        *ret = TAKE(c);
        return 0;
}

static void drop_request(struct client *c)
{
        if (c->easy) {
                curl_multi_remove_handle(c->multi, c->easy);
                curl_easy_cleanup(c->easy);
        }
        curl_slist_free_all(c->headers);
        c->easy = NULL;
        c->headers = NULL;
        c->fd = -1;
        c->patient = c->done = false;
        c->out = NULL;
        c->out_len = c->at = c->fill = 0;
        c->out_ended = c->out_paused = c->in_paused = false;
        head_init(&c->head);
}

struct client *client_free(struct client *c)
{
        if (c) {
                drop_request(c);
                curl_multi_cleanup(c->multi);
        }
        free(c);
        return NULL;
}

static int client_broken(const struct client *c, struct cella_err *err, const char *what)
{
        return err_say(err, CELLA_INTERNAL, -EPROTO, "the answer of %s is invalid: %s", c->to.where, what);
}

/* ---- callbacks ---- */

static curl_socket_t on_socket(void *userdata, curlsocktype purpose, struct curl_sockaddr *address)
{
        struct client *c = userdata;
        (void)purpose;
        c->fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
        return c->fd < 0 ? CURL_SOCKET_BAD : c->fd;
}

static size_t on_header(char *line, size_t size, size_t n, void *userdata)
{
        struct client *c = userdata;
        c->moved++;
        return head_line(&c->head, line, size * n) ? size * n : 0;
}

static size_t client_on_body(char *data, size_t size, size_t n, void *userdata)
{
        struct client *c = userdata;
        size_t len = size * n;
        if (c->at == c->fill)
                c->at = c->fill = 0;
        if (len > sizeof c->buffer - c->fill) {
                c->in_paused = true;
                return CURL_WRITEFUNC_PAUSE;
        }
        memcpy(c->buffer + c->fill, data, len);
        c->fill += len;
        c->moved++;
        return len;
}

static size_t on_upload(char *data, size_t size, size_t n, void *userdata)
{
        struct client *c = userdata;
        size_t len = size * n < c->out_len ? size * n : c->out_len;
        if (len == 0 && !c->out_ended) {
                c->out_paused = true;
                return CURL_READFUNC_PAUSE;
        }
        if (len > 0)
                memcpy(data, c->out, len);
        c->out += len;
        c->out_len -= len;
        c->moved++;
        return len;
}

/* ---- the transfer ---- */

static int no_daemon(const struct client *c, int num, struct cella_err *err)
{
        if (num == -ENOENT || num == -ECONNREFUSED || num == -ENOTSOCK) {
                err_say(err, CELLA_ENGINE_UNAVAILABLE, num, "no daemon at %s", c->to.where);
                return err_hint(err, "cella serve starts one");
        }
        err_set(err, num == -EACCES ? CELLA_ACCESS_DENIED : CELLA_ENGINE_UNAVAILABLE, num,
                "cannot reach the daemon at %s", c->to.where);
        return num == -EACCES ? err_hint(err, "only root and the user who started the daemon may use its "
                                              "socket; others set CELLA_URL and CELLA_KEY")
                              : num;
}

static int timed_out(const struct client *c, struct cella_err *err)
{
        err_say(err, CELLA_ENGINE_UNAVAILABLE, -ETIMEDOUT, "%s does not answer", c->to.where);
        return err_hint(err,
                        "the variable CELLA_TIMEOUT sets how long cella waits, such as CELLA_TIMEOUT=2m");
}

static int client_perform(struct client *c, struct cella_err *err)
{
        int running, left;
        CURLMcode m = curl_multi_perform(c->multi, &running);
        for (CURLMsg *msg; (msg = curl_multi_info_read(c->multi, &left));)
                if (msg->msg == CURLMSG_DONE) {
                        c->done = true;
                        c->result = msg->data.result;
                }
        return m == CURLM_OK ? 0 : err_say(err, CELLA_INTERNAL, -EIO, "libcurl: %s", curl_multi_strerror(m));
}

/* Waits until libcurl has work, or until this time of clock_us(). */
static int client_wait_for(struct client *c, int64_t until, struct cella_err *err)
{
        int64_t left_us = until == FOREVER ? WAIT_US : until - clock_us();
        if (left_us <= 0)
                return timed_out(c, err);
        curl_multi_poll(c->multi, NULL, 0, (int)(((left_us < WAIT_US ? left_us : WAIT_US) + 999) / 1000),
                        NULL);
        return 0;
}

/* Runs libcurl until it has called a callback or the transfer has ended. */
static int transfer_step(struct client *c, int64_t until, struct cella_err *err)
{
        unsigned moved = c->moved;
        for (;;) {
                int r = client_perform(c, err);
                if (r < 0 || c->done || c->moved != moved || (r = client_wait_for(c, until, err)) < 0)
                        return r;
        }
}

static int64_t client_patience(const struct client *c)
{
        return clock_us() + c->idle_us;
}

/* Sets *err to the reason why the transfer failed. */
static int failure(const struct client *c, struct cella_err *err)
{
        if (c->head.wrong)
                return client_broken(c, err, c->head.wrong);
        if (c->result == CURLE_PEER_FAILED_VERIFICATION || c->result == CURLE_SSL_CACERT_BADFILE) {
                err_say(err, CELLA_ENGINE_UNAVAILABLE, -EACCES,
                        "the certificate of %.120s cannot be verified", c->to.where);
                return err_hint(err,
                                "for a certificate of your own, set CELLA_CA_FILE to the file with it, or "
                                "with that of its issuer; the name in CELLA_URL must be in it");
        }
        if (c->result == CURLE_COULDNT_RESOLVE_HOST)
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -ENOENT, "the host name in %.150s is not known",
                               c->to.where);
        if (c->result == CURLE_SSL_CONNECT_ERROR)
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPROTO, "no TLS connection to %.150s: %s",
                               c->to.where, curl_easy_strerror(c->result));
        if (c->result == CURLE_GOT_NOTHING || (c->result == CURLE_RECV_ERROR && c->head.bytes == 0))
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -ECONNRESET,
                               "%s closed the connection without an answer", c->to.where);
        if (c->result == CURLE_SEND_ERROR)
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -EPIPE,
                               "%s closed the connection while it received the request", c->to.where);
        if (c->result == CURLE_PARTIAL_FILE || c->result == CURLE_RECV_ERROR)
                return client_broken(c, err, "it ends too early");
        return client_broken(
                c, err, c->result == CURLE_OK ? "it ends in its headers" : curl_easy_strerror(c->result));
}

/* ---- the request ---- */

static bool add_header(struct client *c, const char *name, const char *value)
{
        char line[1200];
        int n = snprintf(line, sizeof line, "%s: %s", name, value);
        struct curl_slist *more =
                n > 0 && (size_t)n < sizeof line ? curl_slist_append(c->headers, line) : NULL;
        explicit_bzero(line, sizeof line); /* may contain the key */
        if (more)
                c->headers = more;
        return more != NULL;
}

static bool add_headers(struct client *c, const struct client_request *q)
{
        char key[1100];
        snprintf(key, sizeof key, "Bearer %s", c->to.key ? c->to.key : "");
        bool ok = add_header(c, "Host", c->to.host) &&
                  add_header(c, "Accept", q->accept ? q->accept : "application/json") &&
                  (!c->to.key || add_header(c, "Authorization", key)) && add_header(c, "Expect", "");
        explicit_bzero(key, sizeof key);
        if (ok && (q->body || q->writes))
                ok = add_header(c, "Content-Type", q->type ? q->type : "application/json");
        if (ok && q->upgrade)
                ok = add_header(c, "Connection", "Upgrade") && add_header(c, "Upgrade", "websocket") &&
                     add_header(c, "Sec-WebSocket-Version", "13") &&
                     add_header(c, "Sec-WebSocket-Key", q->upgrade);
        else if (ok)
                ok = add_header(c, "Connection", "close");
        return ok;
}

#define SET(option, value) (curl_easy_setopt(e, CURLOPT_##option, value) == CURLE_OK)

/* The environment (proxies, netrc) must not change how the daemon is reached. */
static bool set_transport(struct client *c)
{
        CURL *e = c->easy;
        return SET(NOSIGNAL, 1L) && SET(PROXY, "") && SET(NOPROXY, "*") && SET(PATH_AS_IS, 1L) &&
               SET(FOLLOWLOCATION, 0L) && SET(NETRC, (long)CURL_NETRC_IGNORED) && SET(FORBID_REUSE, 1L) &&
               SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) && SET(HTTP_CONTENT_DECODING, 0L) &&
               SET(USERAGENT, "cella/" CELLA_VERSION) && SET(OPENSOCKETFUNCTION, on_socket) &&
               SET(OPENSOCKETDATA, c) && SET(CONNECTTIMEOUT_MS, (long)CONNECT_MS) &&
               (!c->to.ca || SET(CAINFO, c->to.ca)) &&
               (!c->to.socket[0] || SET(UNIX_SOCKET_PATH, c->to.socket)) && SET(HEADERFUNCTION, on_header) &&
               SET(HEADERDATA, c) && SET(WRITEFUNCTION, client_on_body) && SET(WRITEDATA, c);
}

static bool set_request(struct client *c, const struct client_request *q)
{
        CURL *e = c->easy;
        char url[URL_SIZE + sizeof c->to.url];
        snprintf(url, sizeof url, "%s%s", c->to.url, q->url->text);
        bool ok = SET(URL, url) && SET(HTTPHEADER, c->headers) && SET(CUSTOMREQUEST, q->method);
        if (ok && q->writes)
                ok = SET(UPLOAD, 1L) && SET(READFUNCTION, on_upload) && SET(READDATA, c) &&
                     SET(INFILESIZE_LARGE,
                         q->writes_len == CLIENT_UNKNOWN ? (curl_off_t)-1 : (curl_off_t)q->writes_len);
        else if (ok && (q->body || !strcmp(q->method, "POST")))
                ok = SET(POSTFIELDSIZE_LARGE, (curl_off_t)q->body_len) &&
                     SET(POSTFIELDS, q->body ? q->body : "");
        return ok;
}

static int client_begin(struct client *c, const struct client_request *q, struct cella_err *err)
{
        drop_request(c);
        c->patient = q->patient;
        c->easy = curl_easy_init();
        if (!c->easy || !add_headers(c, q) || !set_transport(c) || !set_request(c, q) ||
            curl_multi_add_handle(c->multi, c->easy) != CURLM_OK)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "request");
        return 0;
}

/* Runs until the head of the request is sent or the transfer has failed. */
static int connect_step(struct client *c, struct cella_err *err)
{
        for (;;) {
                long sent = 0;
                int r = client_perform(c, err);
                curl_easy_getinfo(c->easy, CURLINFO_REQUEST_SIZE, &sent);
                if (r < 0 || c->done || sent > 0 || (r = client_wait_for(c, FOREVER, err)) < 0)
                        return r;
        }
}

/* If the queue of a Unix socket is full (EAGAIN), libcurl assumes that the connection is in progress, and
 * fails later: without an error number, or when it sends.  Such a connection is tried again. */
int client_send(struct client *c, const struct client_request *q, struct cella_err *err)
{
        int64_t until = clock_us() + CONNECT_MS * 1000;
        if (q->url->too_long)
                return err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG, "the request's path is too long");
        /* A terminal writes to the socket itself, see client_fd(). */
        if (q->upgrade && c->to.tls)
                return err_say(err, CELLA_INVALID_REQUEST, -ENOTSUP,
                               "a terminal cannot be opened over https: use the web page, or the socket");
        for (;;) {
                long num = 0;
                int r = client_begin(c, q, err);
                if (r < 0 || (r = connect_step(c, err)) < 0)
                        return r;
                curl_easy_getinfo(c->easy, CURLINFO_OS_ERRNO, &num);
                if (!c->done || (c->result != CURLE_COULDNT_CONNECT && num != ENOTCONN))
                        return c->done && c->result == CURLE_OPERATION_TIMEDOUT ? timed_out(c, err) : 0;
                if (num != 0 && num != ENOTCONN && num != EAGAIN)
                        return no_daemon(c, -(int)num, err);
                if (clock_us() > until)
                        return no_daemon(c, -EAGAIN, err);
                poll(NULL, 0, 10);
        }
}

/* Whether the daemon still wants the body: an early answer is a refusal. */
static bool takes_more(const struct client *c)
{
        return !c->done && !c->head.complete;
}

static void unpause(struct client *c)
{
        c->out_paused = c->in_paused = false;
        curl_easy_pause(c->easy, CURLPAUSE_CONT);
}

int client_write(struct client *c, const char *data, size_t len, struct cella_err *err)
{
        c->out = data;
        c->out_len = len;
        while (c->out_len > 0 && takes_more(c)) {
                if (c->out_paused)
                        unpause(c);
                int r = transfer_step(c, client_patience(c), err);
                if (r < 0)
                        return r;
        }
        bool rest = c->out_len > 0;
        c->out = NULL;
        c->out_len = 0;
        return rest ? -EPIPE : 0;
}

/* ---- the answer ---- */

static enum cella_kind kind_of(const char *name)
{
        for (int k = CELLA_INVALID_REQUEST; name && k <= CELLA_OVER_CAPACITY; k++)
                if (!strcmp(cella_kind_name((enum cella_kind)k), name))
                        return (enum cella_kind)k;
        return CELLA_INTERNAL;
}

/* Sets *err to the daemon's error, if the answer contains one. */
static int refusal(struct client *c, struct cella_err *err)
{
        struct cella_err ignored;
        AUTO(json_decref) json_t *answer = NULL;
        char *text = NULL, message[sizeof err->msg], hint[sizeof err->hint];
        size_t len = 0;
        if (client_read_all(c, ERROR_BODY_MAX, &text, &len, &ignored) == 0)
                answer = foreign_json_parse(text, len, 256, 0, NULL);
        json_t *error = json_object_get(answer, "error");
        const char *said = foreign_json_get_text(error, "message");
        text_safe(message, sizeof message, said ? said : "");
        text_safe(hint, sizeof hint, foreign_json_get_text(error, "hint"));
        if (said && *said)
                err_say(err, kind_of(foreign_json_get_text(error, "kind")), -EREMOTEIO, "%s", message);
        else
                err_say(err, CELLA_INTERNAL, -EREMOTEIO, "%s answered with status %d", c->to.where,
                        c->head.status);
        if (*hint)
                err_hint(err, "%s", hint);
        free(text);
        return -EREMOTEIO;
}

int client_answer(struct client *c, struct head *ret, struct cella_err *err)
{
        int64_t until = c->patient ? FOREVER : client_patience(c);
        c->out_ended = true;
        if (c->out_paused && takes_more(c))
                unpause(c);
        while (!c->head.complete && !c->done) {
                int r = transfer_step(c, until, err);
                if (r < 0)
                        return r;
        }
        if (!c->head.complete)
                return failure(c, err);
        if (c->head.status >= 400)
                return refusal(c, err);
        if (c->head.status >= 300)
                return client_broken(c, err, "it is a redirect, which is not followed");
        *ret = c->head;
        return 0;
}

/* Takes data from the buffer. */
static size_t client_take(struct client *c, char *data, size_t size)
{
        size_t n = c->fill - c->at < size ? c->fill - c->at : size;
        memcpy(data, c->buffer + c->at, n);
        c->at += n;
        return n;
}

static ssize_t read_until(struct client *c, char *data, size_t size, int64_t until, struct cella_err *err)
{
        while (c->at == c->fill) {
                if (c->in_paused)
                        unpause(c);
                if (c->at < c->fill)
                        break;
                if (c->done)
                        return c->result == CURLE_OK ? 0 : failure(c, err);
                int r = transfer_step(c, until, err);
                if (r < 0)
                        return r;
        }
        return (ssize_t)client_take(c, data, size);
}

ssize_t client_read(struct client *c, char *data, size_t size, struct cella_err *err)
{
        return read_until(c, data, size, client_patience(c), err);
}

ssize_t client_read_now(struct client *c, char *data, size_t size, struct cella_err *err)
{
        ssize_t n = read_until(c, data, size, 0, err);
        return n == -ETIMEDOUT ? -EAGAIN : n;
}

int client_read_all(struct client *c, size_t max, char **ret, size_t *ret_len, struct cella_err *err)
{
        size_t len = 0, size = 0;
        char *text = NULL;
        for (;;) {
                if (size - len < 2) {
                        char *more = NULL;
                        size = size ? size * 2 : 8192;
                        if (len <= max)
                                more = realloc(text, size);
                        if (!more) {
                                free(text);
                                return len > max ? err_say(err, CELLA_TOO_LARGE, -EFBIG,
                                                           "the answer of %s has more than %zu bytes",
                                                           c->to.where, max)
                                                 : err_set(err, CELLA_INTERNAL, -ENOMEM, "answer");
                        }
                        text = more;
                }
                ssize_t n = client_read(c, text + len, size - len - 1, err);
                if (n <= 0) {
                        text[len] = '\0';
                        if (n < 0)
                                free(text);
                        else
                                *ret = text, *ret_len = len;
                        return (int)n;
                }
                len += (size_t)n;
        }
}

int client_fd(const struct client *c)
{
        return c->fd;
}
