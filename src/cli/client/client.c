/* cli/client/client.c -- see client.h.  A request goes out and its answer comes in: the bytes are moved by
 * client_link.c, the head of the answer is read by client_head.c, its body by client_body.c. */
#include "cli/client/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_read.h"
#include "base/parse.h"
#include "cli/client/body.h"
#include "cli/client/head.h"
#include "cli/client/link.h"
#include "cli/text.h"

#define INTERIM_MAX 8 /* answers of 1xx before the real one */
#define ERROR_BODY_MAX 65536
#define IDLE_MS 120000

struct client {
        struct client_link link;
        bool chunking; /* the request's body is sent in chunks */
        bool patient;
        struct client_body body; /* of the answer */
};

int client_new(const char *socket, struct client **ret, struct cella_err *err)
{
        AUTO(client_free) struct client *c = calloc(1, sizeof *c);
        const char *timeout = getenv("CELLA_TIMEOUT");
        uint64_t idle_ms = IDLE_MS;
        if (!c)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "client");
        c->link.fd = -1;
        int r = client_address_find(socket, &c->link.to, err);
        if (r == 0 && timeout && *timeout &&
            (parse_milliseconds(timeout, &idle_ms) < 0 || idle_ms == 0 || idle_ms > 86400000))
                r = err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                            "CELLA_TIMEOUT takes a time like 500ms, 5s or 2m, not '%.40s'", timeout);
        if (r < 0)
                return r;
        c->link.idle_us = (int64_t)idle_ms * 1000;
        *ret = TAKE(c);
        return 0;
}

struct client *client_free(struct client *c)
{
        if (c)
                client_link_close(&c->link);
        free(c);
        return NULL;
}

/* ---- the request ---- */

static int head_text(const struct client *c, const struct client_request *q, char *head, size_t size)
{
        const char *key = c->link.to.key;
        char length[64] = "";
        if (q->writes && q->writes_len == CLIENT_UNKNOWN)
                snprintf(length, sizeof length, "Transfer-Encoding: chunked\r\n");
        else if (q->writes || q->body || strcmp(q->method, "GET") != 0)
                snprintf(length, sizeof length, "Content-Length: %llu\r\n",
                         (unsigned long long)(q->writes ? q->writes_len : q->body_len));
        return snprintf(head, size,
                        "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: cella/%s\r\nAccept: "
                        "%s\r\n%s%s%s%s%s%s%s%s%s%s\r\n",
                        q->method, q->url->text, c->link.to.host, CELLA_VERSION,
                        q->accept ? q->accept : "application/json",
                        q->upgrade ? "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                                   : "Connection: close\r\n",
                        q->upgrade ? q->upgrade : "", q->upgrade ? "\r\n" : "",
                        key ? "Authorization: Bearer " : "", key ? key : "", key ? "\r\n" : "",
                        q->body || q->writes ? "Content-Type: " : "",
                        q->body || q->writes ? (q->type ? q->type : "application/json") : "",
                        q->body || q->writes ? "\r\n" : "", length);
}

int client_send(struct client *c, const struct client_request *q, struct cella_err *err)
{
        char head[URL_SIZE + 2048];
        int len = q->url->too_long ? -1 : head_text(c, q, head, sizeof head);
        if (len < 0 || (size_t)len >= sizeof head)
                return err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG, "the request's path is too long");
        int r = client_link_open(&c->link, err);
        if (r < 0)
                return r;
        c->chunking = q->writes && q->writes_len == CLIENT_UNKNOWN;
        c->patient = q->patient;
        r = client_link_send(&c->link, head, (size_t)len, err);
        if (r == 0 && q->body)
                r = client_link_send(&c->link, q->body, q->body_len, err);
        return r == -EPIPE && c->link.answer_early ? 0 : r; /* client_answer() will see */
}

int client_write(struct client *c, const char *data, size_t len, struct cella_err *err)
{
        char size[24];
        int r = 0;
        if (c->link.answer_early)
                return -EPIPE;
        if (len == 0)
                return 0;
        if (c->chunking)
                r = client_link_send(&c->link, size, (size_t)snprintf(size, sizeof size, "%zx\r\n", len),
                                     err);
        if (r == 0)
                r = client_link_send(&c->link, data, len, err);
        if (r == 0 && c->chunking)
                r = client_link_send(&c->link, "\r\n", 2, err);
        return r;
}

/* ---- the answer ---- */

static enum cella_kind kind_of(const char *name)
{
        for (int k = CELLA_INVALID_REQUEST; name && k <= CELLA_OVER_CAPACITY; k++)
                if (!strcmp(cella_kind_name((enum cella_kind)k), name))
                        return (enum cella_kind)k;
        return CELLA_INTERNAL;
}

/* The daemon's own words, as far as it found some. */
static int refusal(struct client *c, const struct client_answer *a, struct cella_err *err)
{
        struct cella_err ignored;
        AUTO(json_doc_done) struct json_doc doc = {0};
        char *text = NULL, message[sizeof err->msg], hint[sizeof err->hint];
        size_t len = 0;
        if (client_read_all(c, ERROR_BODY_MAX, &text, &len, &ignored) == 0)
                json_read(text, len, 256, &doc, &ignored);
        const struct json_value *error = json_get(doc.values, "error");
        const char *said = json_get_string(error, "message");
        text_safe(message, sizeof message, said ? said : "");
        text_safe(hint, sizeof hint, json_get_string(error, "hint"));
        if (said && *said)
                err_say(err, kind_of(json_get_string(error, "kind")), -EREMOTEIO, "%s", message);
        else
                err_say(err, CELLA_INTERNAL, -EREMOTEIO, "%s answered with status %d", c->link.to.where,
                        a->status);
        if (*hint)
                err_hint(err, "%s", hint);
        free(text);
        return -EREMOTEIO;
}

int client_answer(struct client *c, struct client_answer *ret, struct cella_err *err)
{
        struct client_answer a = {0};
        int r = 0;
        if (c->chunking && !c->link.answer_early)
                r = client_link_send(&c->link, "0\r\n\r\n", 5, err);
        if (r < 0 && !c->link.answer_early)
                return r;
        int64_t until = c->patient ? CLIENT_FOREVER : client_link_patience(&c->link);
        for (int i = 0; i < INTERIM_MAX; i++) {
                r = client_head_read(&c->link, until, &a, err);
                if (r < 0)
                        return r;
                if (a.status >= 200 || a.status == 101)
                        break;
        }
        if (a.status < 200 && a.status != 101)
                return client_link_broken(&c->link, err, "nothing but interim answers");
        client_body_begin(&c->body, &a);
        if (a.status >= 400)
                return refusal(c, &a, err);
        if (a.status >= 300)
                return client_link_broken(&c->link, err, "it points to somewhere else");
        *ret = a;
        return 0;
}

ssize_t client_read(struct client *c, char *data, size_t size, struct cella_err *err)
{
        return client_body_read(&c->body, &c->link, data, size, err);
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
                                                           "the answer of %s is over %zu bytes",
                                                           c->link.to.where, max)
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
        return c->link.fd;
}

size_t client_take_rest(struct client *c, char *data, size_t size)
{
        return client_link_take(&c->link, data, size);
}
