/* cli/client.c -- see client.h.  The connection does not block; every wait is in wait_for(). */
#include "cli/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/parse.h"
#include "cli/text.h"
#include "sys/file.h"

#define HEAD_MAX 16384     /* of an answer, all lines together */
#define LINE_MAX_BYTES 512 /* of a chunk's size; trailers are headers */
#define INTERIM_MAX 8      /* answers of 1xx before the real one */
#define ERROR_BODY_MAX 65536
#define CONNECT_MS 5000
#define IDLE_MS 120000
#define FOREVER INT64_MAX

enum framing { BODY_NONE, BODY_LENGTH, BODY_CHUNKED, BODY_UNTIL_CLOSE };

struct client {
        int fd;
        struct sockaddr_storage address;
        socklen_t address_len;
        char where[160]; /* for messages */
        char host[80];   /* the Host header */
        const char *key; /* of the environment; may be NULL */
        int64_t idle_us;

        bool chunking;     /* the request's body is sent in chunks */
        bool answer_early; /* the answer came before all of the body went */
        bool patient;

        enum framing framing; /* of the answer's body */
        uint64_t left;        /* of it, or of its chunk */
        bool chunk_open;      /* left counts a chunk whose end has not come */
        size_t at, fill;      /* what of buffer is not read yet */
        char buffer[32768];
};

static int broken(const struct client *c, struct cella_err *err, const char *what)
{
        return err_say(err, CELLA_INTERNAL, -EPROTO, "the answer of %s is broken: %s", c->where, what);
}

/* ---- where the daemon is ---- */

static int set_socket(struct client *c, const char *path, struct cella_err *err)
{
        struct sockaddr_un *un = (struct sockaddr_un *)&c->address;
        if (strlen(path) >= sizeof un->sun_path || !*path)
                return err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG,
                               "the path of a socket may have 1 to %zu characters", sizeof un->sun_path - 1);
        un->sun_family = AF_UNIX;
        snprintf(un->sun_path, sizeof un->sun_path, "%s", path);
        c->address_len = sizeof *un;
        snprintf(c->where, sizeof c->where, "%s", path);
        snprintf(c->host, sizeof c->host, "cella");
        return 0;
}

static int set_port(struct client *c, const char *host, unsigned port)
{
        struct sockaddr_in *in = (struct sockaddr_in *)&c->address;
        struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&c->address;
        if (!strcmp(host, "localhost"))
                host = "127.0.0.1";
        if (inet_pton(AF_INET, host, &in->sin_addr) == 1) {
                in->sin_family = AF_INET;
                in->sin_port = htons((uint16_t)port);
                c->address_len = sizeof *in;
                return 0;
        }
        if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
                in6->sin6_family = AF_INET6;
                in6->sin6_port = htons((uint16_t)port);
                c->address_len = sizeof *in6;
                return 0;
        }
        return -EINVAL;
}

/* http://HOST[:PORT][/]; HOST is an address or localhost, [..] around one of IPv6. */
static int set_url(struct client *c, const char *url, struct cella_err *err)
{
        char copy[64], *host = copy, *rest;
        uint64_t port = 7070;
        if (strncmp(url, "http://", 7) != 0 || strlen(url + 7) >= sizeof copy)
                goto bad;
        snprintf(copy, sizeof copy, "%s", url + 7);
        size_t len = strlen(copy);
        if (len > 0 && copy[len - 1] == '/')
                copy[len - 1] = '\0';
        snprintf(c->where, sizeof c->where, "http://%s", copy);
        snprintf(c->host, sizeof c->host, "%s", copy);
        if (*host == '[') {
                host++;
                rest = strchr(host, ']');
                if (!rest)
                        goto bad;
                *rest++ = '\0';
        } else {
                rest = host + strcspn(host, ":");
        }
        if (*rest == ':') {
                *rest++ = '\0';
                if (parse_count(rest, &port) < 0 || port == 0 || port > 65535)
                        goto bad;
        } else if (*rest) {
                goto bad;
        }
        if (set_port(c, host, (unsigned)port) == 0)
                return 0;
bad:
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "CELLA_URL is '%.80s'", url);
        return err_hint(err, "it may be like http://127.0.0.1:7070; the host is an address or localhost");
}

/* Whether a daemon of our own is there.  Names in /tmp are anybody's: what is not ours is not it. */
static bool is_own(const char *path)
{
        struct stat st;
        return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid();
}

static int find_daemon(struct client *c, const char *socket, struct cella_err *err)
{
        const char *from_socket = getenv("CELLA_SOCKET"), *url = getenv("CELLA_URL");
        const char *run = getenv("XDG_RUNTIME_DIR");
        char own[100];
        if (socket)
                return set_socket(c, socket, err);
        if (from_socket && *from_socket)
                return set_socket(c, from_socket, err);
        if (url && *url)
                return set_url(c, url, err);
        /* As cella serve has it: one's own is nearer than the machine's. */
        if (geteuid() != 0 && run && *run == '/' &&
            (size_t)snprintf(own, sizeof own, "%s/cella.sock", run) < sizeof own && is_own(own))
                return set_socket(c, own, err);
        snprintf(own, sizeof own, "/tmp/cella-%u/cella.sock", (unsigned)geteuid());
        if (geteuid() != 0 && is_own(own))
                return set_socket(c, own, err);
        return set_socket(c, CLIENT_SOCKET, err);
}

static int find_key(struct client *c, struct cella_err *err)
{
        const char *key = getenv("CELLA_KEY");
        if (!key || !*key)
                return 0;
        for (const char *p = key; *p; p++)
                if (*p <= ' ' || *p >= 0x7f || p - key > 1000)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "CELLA_KEY is not a key");
        c->key = key;
        return 0;
}

int client_new(const char *socket, struct client **ret, struct cella_err *err)
{
        AUTO(client_free) struct client *c = calloc(1, sizeof *c);
        const char *timeout = getenv("CELLA_TIMEOUT");
        uint64_t idle_ms = IDLE_MS;
        if (!c)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "client");
        c->fd = -1;
        int r = find_daemon(c, socket, err);
        if (r == 0)
                r = find_key(c, err);
        if (r == 0 && timeout && *timeout &&
            (parse_milliseconds(timeout, &idle_ms) < 0 || idle_ms == 0 || idle_ms > 86400000))
                r = err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                            "CELLA_TIMEOUT takes a time like 500ms, 5s or 2m, not '%.40s'", timeout);
        if (r < 0)
                return r;
        c->idle_us = (int64_t)idle_ms * 1000;
        *ret = TAKE(c);
        return 0;
}

static void hang_up(struct client *c)
{
        sys_close(c->fd);
        c->fd = -1;
}

struct client *client_free(struct client *c)
{
        if (c)
                hang_up(c);
        free(c);
        return NULL;
}

/* ---- bytes ---- */

/* Returns the events that came, or -ETIMEDOUT.  until: of clock_us(). */
static int wait_for(const struct client *c, short events, int64_t until, struct cella_err *err)
{
        for (;;) {
                int64_t left_us = until == FOREVER ? -1 : until - clock_us();
                if (until != FOREVER && left_us < 0)
                        left_us = 0;
                struct pollfd fd = {c->fd, events, 0};
                int n = poll(&fd, 1, left_us < 0 ? -1 : (int)((left_us + 999) / 1000));
                if (n > 0)
                        return fd.revents;
                if (n == 0) {
                        err_say(err, CELLA_ENGINE_UNAVAILABLE, -ETIMEDOUT, "%s does not answer", c->where);
                        return err_hint(err, "CELLA_TIMEOUT sets how long to wait for it");
                }
                if (errno != EINTR)
                        return err_set(err, CELLA_INTERNAL, -errno, "poll");
        }
}

static int64_t patience(const struct client *c)
{
        return clock_us() + c->idle_us;
}

static int no_daemon(const struct client *c, int num, struct cella_err *err)
{
        if (num == -ENOENT || num == -ECONNREFUSED || num == -ENOTSOCK) {
                err_say(err, CELLA_ENGINE_UNAVAILABLE, num, "no daemon at %s", c->where);
                return err_hint(err, "cella serve starts one");
        }
        err_set(err, num == -EACCES ? CELLA_ACCESS_DENIED : CELLA_ENGINE_UNAVAILABLE, num,
                "cannot reach the daemon at %s", c->where);
        return num == -EACCES ? err_hint(err, "root and the user who started it may; CELLA_URL and CELLA_KEY "
                                              "are for others")
                              : num;
}

static int connect_to(struct client *c, struct cella_err *err)
{
        int one = 1, num = 0;
        socklen_t size = sizeof num;
        int64_t until = clock_us() + CONNECT_MS * 1000;
        hang_up(c);
        c->fd = socket(c->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (c->fd < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "socket");
        if (c->address.ss_family != AF_UNIX) {
                setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                setsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
        }
        /* A Unix socket whose queue is full says EAGAIN and has nothing to poll for. */
        while (connect(c->fd, (struct sockaddr *)&c->address, c->address_len) < 0) {
                if (errno == EINPROGRESS)
                        break;
                if ((errno != EAGAIN && errno != EINTR) || clock_us() > until)
                        return no_daemon(c, -errno, err);
                poll(NULL, 0, 10);
        }
        int r = wait_for(c, POLLOUT, until, err);
        if (r < 0)
                return r;
        if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &num, &size) == 0 && num != 0)
                return no_daemon(c, -num, err);
        return 0;
}

static int send_all(struct client *c, const char *data, size_t len, struct cella_err *err)
{
        while (len > 0) {
                int events = wait_for(c, POLLOUT | POLLIN, patience(c), err);
                if (events < 0)
                        return events;
                /* An answer before the end of the body is a refusal: nobody reads the rest. */
                if (events & POLLIN) {
                        c->answer_early = true;
                        return -EPIPE;
                }
                ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);
                if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
                        c->answer_early = true; /* there may be one nevertheless */
                        return err_set(err, CELLA_ENGINE_UNAVAILABLE, -EPIPE, "%s hung up", c->where);
                }
                if (n < 0 && errno != EAGAIN && errno != EINTR)
                        return err_set(err, CELLA_ENGINE_UNAVAILABLE, -errno, "cannot send to %s", c->where);
                if (n > 0) {
                        data += n;
                        len -= (size_t)n;
                }
        }
        return 0;
}

/* How many bytes came: 0 at the end of the connection. */
static ssize_t receive(struct client *c, char *data, size_t size, int64_t until, struct cella_err *err)
{
        for (;;) {
                ssize_t n = recv(c->fd, data, size, 0);
                if (n >= 0)
                        return n;
                if (errno == ECONNRESET)
                        return 0;
                if (errno != EAGAIN && errno != EINTR)
                        return err_set(err, CELLA_ENGINE_UNAVAILABLE, -errno, "cannot read from %s",
                                       c->where);
                int r = wait_for(c, POLLIN, until, err);
                if (r < 0)
                        return r;
        }
}

/* ---- the request ---- */

static int head_text(const struct client *c, const struct client_request *q, char *head, size_t size)
{
        char length[64] = "";
        if (q->writes && q->writes_len == CLIENT_UNKNOWN)
                snprintf(length, sizeof length, "Transfer-Encoding: chunked\r\n");
        else if (q->writes || q->body || strcmp(q->method, "GET") != 0)
                snprintf(length, sizeof length, "Content-Length: %llu\r\n",
                         (unsigned long long)(q->writes ? q->writes_len : q->body_len));
        return snprintf(head, size,
                        "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: cella/%s\r\nAccept: "
                        "%s\r\n%s%s%s%s%s%s%s%s%s%s\r\n",
                        q->method, q->url->text, c->host, CELLA_VERSION,
                        q->accept ? q->accept : "application/json",
                        q->upgrade ? "Connection: Upgrade\r\nUpgrade: websocket\r\n"
                                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                                   : "Connection: close\r\n",
                        q->upgrade ? q->upgrade : "", q->upgrade ? "\r\n" : "",
                        c->key ? "Authorization: Bearer " : "", c->key ? c->key : "", c->key ? "\r\n" : "",
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
        int r = connect_to(c, err);
        if (r < 0)
                return r;
        c->at = c->fill = 0;
        c->answer_early = false;
        c->chunking = q->writes && q->writes_len == CLIENT_UNKNOWN;
        c->patient = q->patient;
        r = send_all(c, head, (size_t)len, err);
        if (r == 0 && q->body)
                r = send_all(c, q->body, q->body_len, err);
        return r == -EPIPE && c->answer_early ? 0 : r; /* client_answer() will see */
}

int client_write(struct client *c, const char *data, size_t len, struct cella_err *err)
{
        char size[24];
        int r = 0;
        if (c->answer_early)
                return -EPIPE;
        if (len == 0)
                return 0;
        if (c->chunking)
                r = send_all(c, size, (size_t)snprintf(size, sizeof size, "%zx\r\n", len), err);
        if (r == 0)
                r = send_all(c, data, len, err);
        if (r == 0 && c->chunking)
                r = send_all(c, "\r\n", 2, err);
        return r;
}

/* ---- the head of the answer ---- */

/* Fills the buffer until it holds an empty line; *ret is the length up to and with it. */
static int read_head(struct client *c, int64_t until, size_t *ret, struct cella_err *err)
{
        if (c->at > 0) {
                memmove(c->buffer, c->buffer + c->at, c->fill - c->at);
                c->fill -= c->at;
                c->at = 0;
        }
        for (;;) {
                const char *end = memmem(c->buffer, c->fill, "\r\n\r\n", 4);
                if (end) {
                        *ret = (size_t)(end - c->buffer) + 4;
                        return *ret <= HEAD_MAX ? 0 : broken(c, err, "its headers are too long");
                }
                if (c->fill >= HEAD_MAX)
                        return broken(c, err, "its headers are too long");
                ssize_t n = receive(c, c->buffer + c->fill, HEAD_MAX - c->fill, until, err);
                if (n < 0)
                        return (int)n;
                if (n == 0 && c->fill == 0)
                        return err_say(err, CELLA_ENGINE_UNAVAILABLE, -ECONNRESET,
                                       "%s closed the connection without an answer", c->where);
                if (n == 0)
                        return broken(c, err, "it ends in its headers");
                c->fill += (size_t)n;
        }
}

static int read_length(const struct client *c, const char *text, uint64_t *ret, struct cella_err *err)
{
        uint64_t value;
        if (!*text || text[strspn(text, "0123456789")] || parse_count(text, &value) < 0 || value > INT64_MAX)
                return broken(c, err, "a Content-Length that is no number");
        if (*ret != CLIENT_UNKNOWN && *ret != value)
                return broken(c, err, "two lengths");
        *ret = value;
        return 0;
}

static void keep(char *out, size_t size, const char *value)
{
        snprintf(out, size, "%.*s", (int)strcspn(value, ";, \t"), value);
}

/* One header, of which the answer or the framing may want to know. */
static int take_header(struct client *c, char *line, struct client_answer *a, struct cella_err *err)
{
        static const char token[] =
                "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        size_t name_len = strspn(line, token);
        if (name_len == 0 || line[name_len] != ':')
                return broken(c, err, "a header without a name");
        line[name_len] = '\0';
        char *value = line + name_len + 1;
        value += strspn(value, " \t");
        for (size_t n = strlen(value); n > 0 && (value[n - 1] == ' ' || value[n - 1] == '\t'); n--)
                value[n - 1] = '\0';
        if (!strcasecmp(line, "Content-Length"))
                return read_length(c, value, &a->length, err);
        if (!strcasecmp(line, "Transfer-Encoding")) {
                if (strcasecmp(value, "chunked") != 0 || c->framing == BODY_CHUNKED)
                        return broken(c, err, "an unknown transfer encoding");
                c->framing = BODY_CHUNKED;
        } else if (!strcasecmp(line, "Content-Type")) {
                keep(a->type, sizeof a->type, value);
        } else if (!strcasecmp(line, "Sec-WebSocket-Accept")) {
                keep(a->accept, sizeof a->accept, value);
        }
        return 0;
}

static int read_status(const struct client *c, const char *line, struct client_answer *a,
                       struct cella_err *err)
{
        if (strncmp(line, "HTTP/1.", 7) != 0 || (line[7] != '0' && line[7] != '1') || line[8] != ' ' ||
            strspn(line + 9, "0123456789") != 3 || (line[12] && line[12] != ' '))
                return broken(c, err, "this is not HTTP");
        a->status = atoi(line + 9);
        return a->status < 100 || a->status > 599 ? broken(c, err, "an unknown status") : 0;
}

/* head is len bytes that end in an empty line. */
static int parse_head(struct client *c, char *head, size_t len, struct client_answer *a,
                      struct cella_err *err)
{
        *a = (struct client_answer){.length = CLIENT_UNKNOWN};
        c->framing = BODY_UNTIL_CLOSE;
        for (size_t i = 0; i < len; i++)
                if ((unsigned char)head[i] < ' ' && head[i] != '\r' && head[i] != '\n' && head[i] != '\t')
                        return broken(c, err, "a control character in its headers");
        for (char *line = head, *end; line < head + len - 2; line = end + 2) {
                end = strstr(line, "\r\n");
                *end = '\0';
                if (strpbrk(line, "\r\n"))
                        return broken(c, err, "a line that ends wrongly");
                int r = line == head ? read_status(c, line, a, err) : take_header(c, line, a, err);
                if (r < 0)
                        return r;
        }
        if (c->framing == BODY_CHUNKED && a->length != CLIENT_UNKNOWN)
                return broken(c, err, "two lengths");
        return 0;
}

static void begin_body(struct client *c, const struct client_answer *a)
{
        c->chunk_open = false;
        c->left = 0;
        if (a->status < 200 || a->status == 204 || a->status == 304) {
                c->framing = BODY_NONE;
        } else if (a->length != CLIENT_UNKNOWN) {
                c->framing = BODY_LENGTH;
                c->left = a->length;
        }
}

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
                err_say(err, CELLA_INTERNAL, -EREMOTEIO, "%s answered with status %d", c->where, a->status);
        if (*hint)
                err_hint(err, "%s", hint);
        free(text);
        return -EREMOTEIO;
}

int client_answer(struct client *c, struct client_answer *ret, struct cella_err *err)
{
        struct client_answer a = {0};
        size_t len = 0;
        int r = 0;
        if (c->chunking && !c->answer_early)
                r = send_all(c, "0\r\n\r\n", 5, err);
        if (r < 0 && !c->answer_early)
                return r;
        int64_t until = c->patient ? FOREVER : patience(c);
        for (int i = 0; i < INTERIM_MAX; i++) {
                r = read_head(c, until, &len, err);
                if (r == 0)
                        r = parse_head(c, c->buffer, len, &a, err);
                if (r < 0)
                        return r;
                c->at = len;
                if (a.status >= 200 || a.status == 101)
                        break;
        }
        if (a.status < 200 && a.status != 101)
                return broken(c, err, "nothing but interim answers");
        begin_body(c, &a);
        if (a.status >= 400)
                return refusal(c, &a, err);
        if (a.status >= 300)
                return broken(c, err, "it points to somewhere else");
        *ret = a;
        return 0;
}

/* ---- the body of the answer ---- */

/* A line without its CRLF. */
static int read_line(struct client *c, char line[LINE_MAX_BYTES], struct cella_err *err)
{
        size_t len = 0;
        for (;;) {
                if (c->at == c->fill) {
                        ssize_t n = receive(c, c->buffer, sizeof c->buffer, patience(c), err);
                        if (n <= 0)
                                return n < 0 ? (int)n : broken(c, err, "it ends too early");
                        c->at = 0;
                        c->fill = (size_t)n;
                }
                char ch = c->buffer[c->at++];
                if (ch == '\n') {
                        if (len == 0 || line[len - 1] != '\r')
                                return broken(c, err, "a line that ends wrongly");
                        line[len - 1] = '\0';
                        return 0;
                }
                if (len == LINE_MAX_BYTES - 1)
                        return broken(c, err, "a line that is too long");
                line[len++] = ch;
        }
}

/* Goes to the next chunk.  1: there is none. */
static int next_chunk(struct client *c, struct cella_err *err)
{
        char line[LINE_MAX_BYTES] = "";
        int r = 0;
        if (c->chunk_open && ((r = read_line(c, line, err)) < 0 || line[0]))
                return r < 0 ? r : broken(c, err, "a chunk is longer than it said");
        if ((r = read_line(c, line, err)) < 0)
                return r;
        size_t digits = strspn(line, "0123456789abcdefABCDEF");
        if (digits == 0 || digits > 15 || (line[digits] && line[digits] != ';' && line[digits] != ' '))
                return broken(c, err, "a chunk without a length");
        c->left = strtoull(line, NULL, 16);
        c->chunk_open = true;
        if (c->left > 0)
                return 0;
        for (int i = 0; i < 32; i++) {
                if ((r = read_line(c, line, err)) < 0)
                        return r;
                if (!line[0]) {
                        c->framing = BODY_NONE;
                        return 1;
                }
        }
        return broken(c, err, "too many trailers");
}

ssize_t client_read(struct client *c, char *data, size_t size, struct cella_err *err)
{
        if (c->framing == BODY_CHUNKED && c->left == 0) {
                int r = next_chunk(c, err);
                if (r != 0)
                        return r < 0 ? r : 0;
        }
        if (c->framing == BODY_NONE || (c->framing == BODY_LENGTH && c->left == 0))
                return 0;
        if (c->framing != BODY_UNTIL_CLOSE && size > c->left)
                size = (size_t)c->left;
        ssize_t n = (ssize_t)client_take_rest(c, data, size);
        if (n == 0)
                n = receive(c, data, size, patience(c), err);
        if (n == 0 && c->framing != BODY_UNTIL_CLOSE)
                return broken(c, err, "it ends too early");
        if (n > 0 && c->framing != BODY_UNTIL_CLOSE)
                c->left -= (uint64_t)n;
        return n;
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
                                return len > max
                                               ? err_say(err, CELLA_TOO_LARGE, -EFBIG,
                                                         "the answer of %s is over %zu bytes", c->where, max)
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

size_t client_take_rest(struct client *c, char *data, size_t size)
{
        size_t n = c->fill - c->at < size ? c->fill - c->at : size;
        memcpy(data, c->buffer + c->at, n);
        c->at += n;
        return n;
}
