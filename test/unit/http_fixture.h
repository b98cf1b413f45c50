/* test/unit/http_fixture.h -- a server with a handler for each kind of answer, and raw clients, all in
 * one thread: waiting for something turns the loop until it is there. */
#pragma once
#pragma GCC diagnostic ignored "-Wunused-function" /* not every test uses all functions */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <uv.h>

#include "base/auto.h"
#include "base/clock.h"
#include "http/http.h"

static void start(void), stop(void);
#define TEST_BEFORE start
#define TEST_AFTER stop
#include "test.h"

/* ---- the server ---- */

static uv_loop_t loop;
static struct http_server *server;
static int tcp_port;
static char unix_path[108];

/* Recorded by the handlers. */
static struct {
        unsigned headers, requests, errors, done, gone, rooms, body_ends;
        int last_error, last_status;
        struct http_request *request; /* kept by a handler that waits for the test */
        size_t body_bytes;            /* streamed in */
        ssize_t take;                 /* maximum number of bytes to accept; -1: all */
        struct http_websocket *ws;
        unsigned ws_closed, ws_messages, ws_rooms;
        char last_address[64];
        uid_t last_uid;
        bool last_local;
        char last_message[256];
        size_t last_message_len;
} seen;

enum {
        HELLO,
        ECHO_BACK,
        PARTS,
        QUERY,
        LATER,
        NEVER,
        SILENT,
        STREAM,
        FIXED,
        UPLOAD,
        SLOW_UPLOAD,
        WS,
        SPECIAL,
        ANY,
        BIG
};
static const int kinds[] = {HELLO, ECHO_BACK, PARTS,       QUERY, LATER,   NEVER, SILENT, STREAM,
                            FIXED, UPLOAD,    SLOW_UPLOAD, WS,    SPECIAL, ANY,   BIG};
static const struct http_route routes[] = {
        {HTTP_GET, "/hello", 0, false, &kinds[HELLO]},
        {HTTP_GET, "/", 0, false, &kinds[HELLO]},
        {HTTP_POST, "/echo", 100000, false, &kinds[ECHO_BACK]},
        {HTTP_PUT, "/echo", 100000, false, &kinds[ECHO_BACK]},
        {HTTP_GET, "/items/{id}/parts/{part}", 0, false, &kinds[PARTS]},
        {HTTP_GET, "/query", 0, false, &kinds[QUERY]},
        {HTTP_POST, "/later", 100000, false, &kinds[LATER]},
        {HTTP_GET, "/later", 0, false, &kinds[LATER]},
        {HTTP_GET, "/never", 0, false, &kinds[NEVER]},
        {HTTP_POST, "/never", 1000, false, &kinds[NEVER]},
        {HTTP_GET, "/silent", 0, false, &kinds[SILENT]},
        {HTTP_GET, "/stream", 0, false, &kinds[STREAM]},
        {HTTP_GET, "/fixed", 0, false, &kinds[FIXED]},
        {HTTP_PUT, "/upload", 64u << 20, true, &kinds[UPLOAD]},
        {HTTP_PUT, "/slow-upload", 64u << 20, true, &kinds[SLOW_UPLOAD]},
        {HTTP_GET, "/ws", 0, false, &kinds[WS]},
        {HTTP_GET, "/literal/special", 0, false, &kinds[SPECIAL]},
        {HTTP_GET, "/literal/{any}", 0, false, &kinds[ANY]},
        {HTTP_DELETE, "/literal/{any}", 0, false, &kinds[ANY]},
        {HTTP_GET, "/literal/{any}/more", 0, false, &kinds[ANY]},
        {HTTP_GET, "/big", 0, false, &kinds[BIG]},
};

struct later {
        uv_timer_t timer;
        struct http_request *request;
};

static void free_later(uv_handle_t *handle)
{
        free(handle->data);
}

static void answer_later(uv_timer_t *timer)
{
        struct later *later = timer->data;
        size_t len;
        const char *body = http_body(later->request, &len);

        http_reply(later->request, 200, "application/json", body, len);
        uv_close((uv_handle_t *)timer, free_later);
}

static void later_gone(struct http_request *request, void *context)
{
        struct later *later = context;

        (void)request;
        seen.gone++;
        uv_close((uv_handle_t *)&later->timer, free_later);
}

static void on_gone(struct http_request *request, void *context)
{
        (void)context;
        seen.gone++;
        if (seen.request == request)
                seen.request = NULL;
}

static void on_room(struct http_request *request, void *context)
{
        (void)request, (void)context;
        seen.rooms++;
}

static void add_text(void *context, const char *name, const char *value)
{
        char *text = context;

        sprintf(text + strlen(text), "%s=%s;", name, value);
}

static ssize_t take_body(struct http_request *request, const char *data, size_t len, void *context)
{
        size_t n = seen.take < 0 || (size_t)seen.take > len ? len : (size_t)seen.take;

        (void)context;
        if (data == NULL) {
                char text[32];

                seen.body_ends++;
                sprintf(text, "%zu", seen.body_bytes);
                http_reply(request, 201, "text/plain", text, strlen(text));
                return 0;
        }
        seen.body_bytes += n;
        return (ssize_t)n;
}

static void on_message(struct http_websocket *ws, bool text, const char *data, size_t len, void *context)
{
        (void)context;
        seen.ws_messages++;
        seen.last_message_len = len;
        snprintf(seen.last_message, sizeof(seen.last_message), "%.*s", (int)(len < 200 ? len : 200), data);
        if (len == 9 && memcmp(data, "close now", 9) == 0)
                http_websocket_close(ws, 1000, "as you say");
        else
                http_websocket_send(ws, text, data, len);
}

static void on_ws_room(struct http_websocket *ws, void *context)
{
        (void)ws, (void)context;
        seen.ws_rooms++;
}

static void on_ws_closed(struct http_websocket *ws, void *context)
{
        (void)ws, (void)context;
        seen.ws_closed++;
        seen.ws = NULL;
}

static const struct http_websocket_events ws_events = {on_message, on_ws_room, on_ws_closed};

static void on_headers(struct http_request *request, void *userdata)
{
        (void)userdata;
        seen.headers++;
        seen.last_local = http_peer(request)->local;
        seen.last_uid = http_peer(request)->uid;
        strcpy(seen.last_address, http_peer(request)->address);
        if (http_header(request, "X-Refuse") != NULL)
                http_reply(request, 401, "text/plain", "no\n", 3);
}

static void on_error(struct http_request *request, int status, const char *why, void *userdata)
{
        (void)userdata;
        seen.errors++;
        seen.last_error = status;
        http_reply(request, status, "text/plain", why, strlen(why));
}

static void on_done(struct http_request *request, int status, uint64_t duration_us, void *userdata)
{
        (void)request, (void)duration_us, (void)userdata;
        seen.done++;
        seen.last_status = status;
        if (seen.request == request)
                seen.request = NULL;
}

static void start_later(struct http_request *request)
{
        struct later *later = calloc(1, sizeof(*later));
        const char *ms = http_query(request, "ms");

        later->request = request;
        uv_timer_init(&loop, &later->timer);
        later->timer.data = later;
        uv_timer_start(&later->timer, answer_later, ms != NULL ? (uint64_t)atoi(ms) : 0, 0);
        http_on_gone(request, later_gone, later);
}

static void on_request(struct http_request *request, void *userdata)
{
        const int *kind = http_about(request);
        size_t len;
        const char *body;
        char text[2000] = "";

        (void)userdata;
        seen.requests++;
        switch (*kind) {
        case HELLO:
                http_reply(request, 200, "text/plain", "hello", 5);
                break;
        case ECHO_BACK:
                body = http_body(request, &len);
                http_add_header(request, "X-Length", "known");
                http_reply(request, 200, "application/octet-stream", body, len);
                break;
        case PARTS:
        case ANY:
                sprintf(text, "%s|%s", http_param(request, 0), http_param(request, 1));
                http_reply(request, 200, "text/plain", text, strlen(text));
                break;
        case SPECIAL:
                http_reply(request, 200, "text/plain", "special", 7);
                break;
        case QUERY:
                http_each_query(request, add_text, text);
                http_reply(request, 200, "text/plain", text, strlen(text));
                break;
        case LATER:
                start_later(request);
                break;
        case NEVER:
                seen.request = request;
                http_on_gone(request, on_gone, NULL);
                break;
        case SILENT:
                seen.request = request;
                break;
        case STREAM:
                seen.request = request;
                http_on_gone(request, on_gone, NULL);
                http_on_room(request, on_room, NULL);
                http_stream(request, 200, "text/event-stream", UINT64_MAX);
                break;
        case FIXED:
                seen.request = request;
                http_on_gone(request, on_gone, NULL);
                http_on_room(request, on_room, NULL);
                http_stream(request, 200, "application/octet-stream",
                            strtoull(http_query(request, "n"), NULL, 10));
                break;
        case UPLOAD:
                seen.request = request;
                http_on_gone(request, on_gone, NULL);
                http_body_read(request, take_body, NULL);
                break;
        case SLOW_UPLOAD: /* the test asks for the body later */
                seen.request = request;
                http_on_gone(request, on_gone, NULL);
                break;
        case WS:
                http_websocket_accept(request, 100000, &ws_events, NULL, &seen.ws);
                break;
        case BIG: {
                size_t n = strtoull(http_query(request, "n"), NULL, 10);
                char *big = malloc(n);

                memset(big, 'b', n);
                http_reply_take(request, 200, "text/plain", big, n);
                break;
        }
        }
}

/* The bodies of all answers; stop() frees them. */
static struct kept_body {
        struct kept_body *next;
        char text[];
} * kept_bodies;

static int listen_tcp(void)
{
        struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof(in);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        bind(fd, (struct sockaddr *)&in, sizeof(in));
        listen(fd, 4096);
        getsockname(fd, (struct sockaddr *)&in, &len);
        tcp_port = ntohs(in.sin_port);
        return fd;
}

static int listen_unix(void)
{
        struct sockaddr_un un = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        snprintf(unix_path, sizeof unix_path, "%s/cella-http-test.%d", test_directory(), getpid());
        unlink(unix_path);
        strcpy(un.sun_path, unix_path);
        bind(fd, (struct sockaddr *)&un, sizeof(un));
        listen(fd, 4096);
        return fd;
}

static void start_with(unsigned connections_max, unsigned idle_s)
{
        int fds[2];
        stop();
        struct http_options options = {
                .loop = &loop,
                .listeners = fds,
                .n_listeners = 2,
                .routes = routes,
                .n_routes = ARRAY_LEN(routes),
                .connections_max = connections_max,
                .idle_timeout_s = idle_s,
                .on_headers = on_headers,
                .on_request = on_request,
                .on_error = on_error,
                .on_done = on_done,
        };
        struct cella_err err = {0};

        memset(&seen, 0, sizeof(seen));
        seen.take = -1;
        uv_loop_init(&loop);
        fds[0] = listen_tcp();
        fds[1] = listen_unix();
        if (http_server_new(&options, &server, &err) < 0) {
                printf("FAIL cannot start: %s\n", err.msg);
                exit(1);
        }
}

static void start(void)
{
        start_with(20000, 60);
}

/* All handles must be closed before the loop can be closed. */
static void stop(void)
{
        for (struct kept_body *next; kept_bodies != NULL; kept_bodies = next) {
                next = kept_bodies->next;
                free(kept_bodies);
        }
        if (!server)
                return;
        server = http_server_free(server);
        uv_run(&loop, UV_RUN_DEFAULT);
        CHECK_INT(uv_loop_close(&loop), 0);
        unlink(unix_path);
}

/* ---- clients ---- */

/* Runs the loop for so long; at least ten times, because this process may have been frozen meanwhile. */
static void turn(unsigned ms)
{
        int64_t until = clock_us() + (int64_t)ms * 1000;
        int turns = 0;

        do {
                uv_run(&loop, UV_RUN_NOWAIT);
                if (ms > 0)
                        usleep(200);
        } while (clock_us() < until || (ms > 0 && ++turns < 10));
}

/* Maximum wait in milliseconds for an expected event.  Only a failure takes so long. */
#define PATIENCE 30000

#define WAIT_FOR(cond)                                                                                       \
        do {                                                                                                 \
                int64_t until_ = clock_us() + PATIENCE * 1000;                                               \
                while (!(cond) && clock_us() < until_)                                                       \
                        uv_run(&loop, UV_RUN_NOWAIT);                                                        \
                CHECK(cond);                                                                                 \
        } while (0)

static int dial(void)
{
        struct sockaddr_in in = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                 .sin_port = htons((uint16_t)tcp_port)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0) {
                close(fd);
                return -1;
        }
        return fd;
}

static int dial_unix(void)
{
        struct sockaddr_un un = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

        strcpy(un.sun_path, unix_path);
        if (connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0) {
                close(fd);
                return -1;
        }
        return fd;
}

/* Sends all of it, turning the loop where the socket is full; false if the server hung up. */
static bool put_bytes(int fd, const void *data, size_t len)
{
        int64_t until = clock_us() + PATIENCE * 1000;

        while (len > 0 && clock_us() < until) {
                ssize_t n = send(fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);

                if (n < 0 && errno != EAGAIN)
                        return false;
                if (n > 0) {
                        data = (const char *)data + n;
                        len -= (size_t)n;
                }
                uv_run(&loop, UV_RUN_NOWAIT);
        }
        return len == 0;
}

static bool put(int fd, const char *text)
{
        return put_bytes(fd, text, strlen(text));
}

/* Bytes that were received but not consumed yet. */
struct reader {
        int fd;
        char *data;
        size_t len, size;
        bool ended;
};

static bool fill(struct reader *reader, unsigned ms)
{
        int64_t until = clock_us() + (int64_t)ms * 1000;

        if (reader->size - reader->len < 65536)
                reader->data = realloc(reader->data, reader->size += 65536 + reader->size);
        do {
                ssize_t n;

                uv_run(&loop, UV_RUN_NOWAIT);
                n = recv(reader->fd, reader->data + reader->len, reader->size - reader->len - 1,
                         MSG_DONTWAIT);
                if (n > 0) {
                        reader->len += (size_t)n;
                        reader->data[reader->len] = '\0';
                        return true;
                }
                if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
                        reader->ended = true;
                        return false;
                }
        } while (clock_us() < until);
        return false;
}

static void use_up(struct reader *reader, size_t len)
{
        memmove(reader->data, reader->data + len, reader->len - len);
        reader->len -= len;
        reader->data[reader->len] = '\0';
}

struct answer {
        int status;
        char head[4000];
        char *body;
        size_t len;
        bool close;
};

/* The answer's body becomes len bytes and a 0.  It may have been shorter before. */
static void set_length(struct answer *answer, size_t len)
{
        struct kept_body *body = malloc(sizeof(*body) + len + 1);

        *body = (struct kept_body){.next = kept_bodies};
        kept_bodies = body;
        memcpy(body->text, answer->body != NULL ? answer->body : "", answer->len);
        body->text[len] = '\0';
        answer->body = body->text;
        answer->len = len;
}

#define CHECK_ANSWER(got, code, text)                                                                        \
        do {                                                                                                 \
                struct answer got_ = (got);                                                                  \
                CHECK_INT(got_.status, code);                                                                \
                CHECK_STR(got_.body, text);                                                                  \
        } while (0)

static bool get_chunks(struct reader *reader, struct answer *answer)
{
        for (;;) {
                char *line_end;
                size_t n;

                while ((line_end = reader->len > 0 ? strstr(reader->data, "\r\n") : NULL) == NULL)
                        if (!fill(reader, PATIENCE))
                                return false;
                n = strtoul(reader->data, NULL, 16);
                while (reader->len < (size_t)(line_end - reader->data) + 2 + n + 2) {
                        size_t at = (size_t)(line_end - reader->data);

                        if (!fill(reader, PATIENCE))
                                return false;
                        line_end = reader->data + at;
                }
                set_length(answer, answer->len + n);
                memcpy(answer->body + answer->len - n, line_end + 2, n);
                use_up(reader, (size_t)(line_end - reader->data) + 2 + n + 2);
                if (n == 0)
                        return true;
        }
}

/* Reads one response with its body.  status -1: the server closed the connection; 0: no response came. */
static struct answer get_answer(struct reader *reader)
{
        struct answer answer = {0};
        char *end, *length;
        size_t n;

        while ((end = reader->len > 0 ? strstr(reader->data, "\r\n\r\n") : NULL) == NULL) {
                if (!fill(reader, PATIENCE)) {
                        answer.status = reader->ended ? -1 : 0;
                        return answer;
                }
        }
        snprintf(answer.head, sizeof(answer.head), "%.*s", (int)(end - reader->data + 4), reader->data);
        answer.status = atoi(reader->data + 9);
        answer.close = strcasestr(answer.head, "\nConnection: close") != NULL;
        use_up(reader, (size_t)(end - reader->data) + 4);
        if (strcasestr(answer.head, "\nTransfer-Encoding: chunked") != NULL) {
                if (!get_chunks(reader, &answer))
                        answer.status = -2;
                return answer;
        }
        length = strcasestr(answer.head, "\nContent-Length:");
        n = length != NULL && answer.status != 304 ? strtoul(length + 16, NULL, 10) : 0;
        while (reader->len < n)
                if (!fill(reader, PATIENCE))
                        break;
        if (reader->len < n) {
                answer.status = -2;
                n = reader->len;
        }
        set_length(&answer, n);
        memcpy(answer.body, reader->data != NULL ? reader->data : "", n);
        if (n > 0)
                use_up(reader, n);
        return answer;
}

static void reader_done(struct reader *reader)
{
        if (reader->fd >= 0)
                close(reader->fd);
        free(reader->data);
        *reader = (struct reader){.fd = -1};
}
#define reader_done_auto reader_done /* for AUTO() */

/* A whole exchange on a connection of its own. */
static struct answer ask(const char *format, ...)
{
        char text[8000];
        struct reader reader = {.fd = dial()};
        struct answer answer;
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        put(reader.fd, text);
        answer = get_answer(&reader);
        reader_done(&reader);
        return answer;
}

static bool ended(struct reader *reader)
{
        while (fill(reader, PATIENCE))
                ;
        return reader->ended;
}

/* ---- WebSockets ---- */

static const char ws_hello[] = "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                               "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

static struct reader ws_open(bool local)
{
        struct reader reader = {.fd = local ? dial_unix() : dial()};
        struct answer answer;

        put(reader.fd, ws_hello);
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 101);
        CHECK(strstr(answer.head, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") != NULL);
        CHECK(strstr(answer.head, "Sec-WebSocket-Protocol") == NULL);
        WAIT_FOR(seen.ws != NULL);
        return reader;
}
