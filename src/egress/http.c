/* egress/http.c -- HTTP on a connection: one request, checked and followed; its response is spliced.
 *
 * Each connection carries one request.  Its head is forwarded with "Connection: close" in place of the
 * client's connection headers, so the server closes after its answer, and then we close, too.  HTTP/1
 * clients handle that and connect again, also to a proxy.  So data after a request never reaches a server,
 * however the server interprets the request: request smuggling is impossible.  Also, we need not find the
 * end of a response, which is the other common source of errors in proxies.
 *
 * Body bytes are peeked, sent, and removed as far as they were sent: nothing is stored here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "egress/connection.h"
#include "sys/socket.h"

#define QUANTUM (4 * SCRATCH_SIZE) /* bytes of a body per turn */

/* ---- heads ---- */

struct writer {
        char *at;
};

static void egress_http_put(struct writer *w, const char *data, size_t length)
{
        memcpy(w->at, data, length);
        w->at += length;
}

static void egress_http_put_text(struct writer *w, const char *text)
{
        egress_http_put(w, text, strlen(text));
}

/* Returns true if a line of the head is the header with this name. */
static bool is_header(const char *line, size_t length, const char *name)
{
        size_t n = strlen(name);

        return length > n && line[n] == ':' && strncasecmp(line, name, n) == 0;
}

/* Headers that only concern the connection between the client and us. */
static bool egress_http_is_ours(const char *line, size_t length, bool upgrade)
{
        static const char *const names[] = {"Connection",          "Proxy-Connection", "Keep-Alive",
                                            "Proxy-Authorization", "HTTP2-Settings",   "TE"};

        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (is_header(line, length, names[i]))
                        return true;
        return !upgrade && is_header(line, length, "Upgrade");
}

/* Creates the head to be sent.  data: the client's head, complete and well-formed. */
static int make_head(struct connection *c, const char *data, const struct http1_request *q)
{
        const char *end = data + q->head_length - 2, *line = memchr(data, '\n', q->head_length);
        const char *target = data + q->target_at, *target_end = target + q->target_length;
        /* Room for the target once more, for Host, and for our headers. */
        struct writer w = {malloc(q->head_length + q->target_length + 64)};
        bool has_host = false;

        if (w.at == NULL)
                return -ENOMEM;
        c->head = w.at;
        egress_http_put(&w, data, q->target_at);
        if (!q->is_absolute)
                egress_http_put(&w, target, q->target_length);
        else if (data + q->path_at == target_end)
                egress_http_put_text(&w, "/");
        else
                egress_http_put(&w, data + q->path_at, (size_t)(target_end - (data + q->path_at)));
        egress_http_put(&w, target_end, (size_t)(++line - target_end));

        while (line < end) {
                const char *next = (const char *)memchr(line, '\n', (size_t)(end - line)) + 1;
                size_t length = (size_t)(next - line);

                has_host |= is_header(line, length, "Host");
                if (!egress_http_is_ours(line, length, q->wants_upgrade))
                        egress_http_put(&w, line, length);
                line = next;
        }
        if (!has_host) { /* only allowed with an absolute target */
                egress_http_put_text(&w, "Host: ");
                egress_http_put(&w, target + 7, q->path_at - q->target_at - 7);
                egress_http_put_text(&w, "\r\n");
        }
        egress_http_put_text(&w,
                             q->wants_upgrade ? "Connection: Upgrade\r\n\r\n" : "Connection: close\r\n\r\n");
        c->head_length = (size_t)(w.at - c->head);
        c->head_sent = 0;
        return 0;
}

/* Determines the destination of a request.  Returns NULL or an error text. */
static const char *destination_of(const struct connection *c, const struct http1_request *q,
                                  struct destination *ret)
{
        bool to_proxy = c->is_proxy && !c->in_tunnel;

        *ret = q->to;
        if (q->is_connect)
                return to_proxy ? NULL : "a CONNECT request that is not to the proxy";
        if (to_proxy) {
                if (!q->is_absolute)
                        return "a request to the proxy without http:// in its first line";
                if (ret->port == 0)
                        ret->port = 80;
                return NULL;
        }
        if (ret->port != 0 && ret->port != c->original.port) {
                ret->port = c->original.port;
                return "a Host with another port than that of the connection";
        }
        ret->port = c->original.port;
        return NULL;
}

static void decide(struct connection *c, const struct http1_request *q)
{
        const char *why = destination_of(c, q, &c->to);

        if (why != NULL) {
                refuse(c, false, &c->to, why);
                return;
        }
        c->is_connect = q->is_connect;
        c->wants_upgrade = q->wants_upgrade;
        c->kind = q->is_connect && policy_is_raw(c->sandbox->policy, &c->to) ? POLICY_RAW : POLICY_SPOKEN;
        if ((!q->is_connect && make_head(c, (const char *)scratch, q) < 0) ||
            connection_discard(c, q->head_length) < 0)
                connection_close(c, true);
        else
                connection_decide(c);
}

bool http_read_head(struct connection *c)
{
        long n = connection_peek(c);
        struct http1_request q;
        const char *why = "a head that is too long";
        int r;

        if (n == -EAGAIN)
                return false;
        if (n <= 0) {
                connection_close(c, n < 0);
                return false;
        }
        r = http1_read_head((const char *)scratch, (size_t)n, &q, &c->body, &why);
        if (r > 0)
                decide(c, &q);
        else if (r < 0)
                refuse(c, false, &c->original, why);
        else if (c->client.hung_up)
                connection_close(c, false);
        else if (c->looked_at > CONNECTION_LOOKED_MAX)
                refuse(c, false, &c->original, "a head in too many pieces");
        return false;
}

/* ---- the request ---- */

static int send_head(struct connection *c)
{
        long n;

        if (egress_sandbox_bytes_left(c->sandbox) == 0)
                return -EDQUOT;
        n = sys_send(c->upstream.source.fd, c->head + c->head_sent, c->head_length - c->head_sent, 0);
        if (n == -EAGAIN) {
                c->upstream.writable = false;
                return RELAY_QUIET;
        }
        if (n < 0)
                return (int)n;
        c->touched = loop_now();
        c->head_sent += (size_t)n;
        c->sandbox->counted.bytes_sent += (uint64_t)n;
        if (c->head_sent == c->head_length) {
                free(c->head);
                c->head = NULL;
        }
        return RELAY_MORE;
}

/* The client has closed early: the server may still answer. */
static int pass_end(struct connection *c)
{
        c->client.ended = true;
        c->upstream.shut = true;
        sys_shutdown(c->upstream.source.fd, SHUT_WR);
        return RELAY_QUIET;
}

static int send_body(struct connection *c)
{
        uint64_t left = egress_sandbox_bytes_left(c->sandbox);
        struct http1 body = c->body;
        long n = connection_peek(c), length, sent;

        if (n == -EAGAIN) {
                c->client.readable = false;
                return RELAY_QUIET;
        }
        if (n < 0)
                return (int)n;
        if (n == 0)
                return pass_end(c);
        length = http1_skip_body(&body, (const char *)scratch, (size_t)n);
        if (length < 0)
                return -EPROTO;
        if (left == 0)
                return -EDQUOT;
        if ((uint64_t)length > left)
                length = (long)left;
        sent = sys_send(c->upstream.source.fd, scratch, (size_t)length, 0);
        if (sent == -EAGAIN) {
                c->upstream.writable = false;
                return RELAY_QUIET;
        }
        if (sent < 0) {
                c->up.broken = true;
                return (int)sent;
        }
        http1_skip_body(&c->body, (const char *)scratch, (size_t)sent);
        if (connection_discard(c, (size_t)sent) < 0)
                return -ECONNRESET;
        c->sandbox->counted.bytes_sent += (uint64_t)sent;
        c->touched = loop_now();
        return RELAY_MORE;
}

/* The request is sent: only watch for the client's close, to forward it to the server. */
static int watch_client(struct connection *c)
{
        uint8_t byte;
        long n = sys_recv(c->client.source.fd, &byte, 1, MSG_PEEK);

        if (n == 0)
                return pass_end(c);
        c->client.readable = false;
        if (n < 0 && n != -EAGAIN)
                return (int)n;
        /* The server was not asked to close, so it does not: another request needs a new connection. */
        return n > 0 && c->was_not_upgraded ? -ECONNRESET : RELAY_QUIET;
}

static int send_request(struct connection *c)
{
        size_t quantum = QUANTUM;
        int r = RELAY_MORE;

        while (r == RELAY_MORE && quantum > 0 && !c->upstream.shut && !c->up.broken) {
                bool is_sent = c->head == NULL && http1_is_done(&c->body);

                if (is_sent ? !c->client.readable
                            : !c->upstream.writable || (!c->head && !c->client.readable))
                        return RELAY_QUIET;
                r = c->head != NULL ? send_head(c) : is_sent ? watch_client(c) : send_body(c);
                quantum -= SCRATCH_SIZE;
        }
        return r;
}

/* ---- the response ---- */

/* Returns 1 if the server switches protocols, -1 if not, 0 if unknown yet. */
static int look_at_answer(struct connection *c)
{
        static const char begin[] = "HTTP/1.";
        char said[12];
        long n;

        if (!c->upstream.readable)
                return 0;
        n = sys_recv(c->upstream.source.fd, said, sizeof(said), MSG_PEEK);
        if (n == -EAGAIN) {
                c->upstream.readable = false;
                return 0;
        }
        if (c->head != NULL || !http1_is_done(&c->body))
                return -1; /* an answer to an incomplete request */
        if (n == sizeof(said))
                return memcmp(said, begin, 7) == 0 && memcmp(said + 8, " 101", 4) == 0 ? 1 : -1;
        return n > 0 && !c->upstream.hung_up ? 0 : -1;
}

/* Data after the request is not forwarded, but is reported if it is a request to another destination. */
static void report_behind(struct connection *c)
{
        struct destination to = c->to;
        struct http1_request q;
        struct http1 body = {0};
        const char *why = NULL;
        char target[288];
        long n;
        int r;

        if (c->head != NULL || !http1_is_done(&c->body))
                return;
        n = connection_peek(c);
        r = n > 0 ? http1_read_head((const char *)scratch, (size_t)n, &q, &body, &why) : 0;
        if (r > 0) {
                why = destination_of(c, &q, &to);
                if (why == NULL)
                        why = policy_refuses(c->sandbox->policy, POLICY_SPOKEN, &to);
        }
        if (r == 0 || why == NULL)
                return;
        connection_text(&to, target);
        egress_sandbox_refused(c->sandbox, false, target, why);
}

bool http_exchange(struct connection *c)
{
        int up, down = RELAY_QUIET, answer = c->wants_upgrade ? look_at_answer(c) : -1;

        if (answer > 0) {
                c->stage = STAGE_RELAY;
                c->speech = SPEECH_RAW;
                c->client.readable = true;
                return egress_relay_run(c);
        }
        if (answer < 0 && c->wants_upgrade) {
                c->wants_upgrade = false;
                c->was_not_upgraded = true;
        }
        if (answer < 0)
                down = relay_flow(c, &c->upstream, &c->client, &c->down, &c->sandbox->counted.bytes_received);
        if (down < 0) {
                relay_failed(c, down);
                return false;
        }
        if (down == RELAY_ENDED) {
                report_behind(c);
                refuse_linger(c);
                return false;
        }
        up = send_request(c);
        if (up == -EPROTO) {
                c->speech = SPEECH_RAW;
                refuse(c, false, &c->to, "a body with broken chunks");
                return false;
        }
        if (up < 0 && !c->up.broken) {
                relay_failed(c, up);
                return false;
        }
        return down == RELAY_MORE || up == RELAY_MORE;
}

void http_begin(struct connection *c)
{
        egress_connection_enter(c, STAGE_EXCHANGE, 0);
        c->client.readable = c->client.writable = true; /* unknown yet */
        work_queue(&c->sandbox->lane, &c->work);
}
