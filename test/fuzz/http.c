/* test/fuzz/http.c -- any bytes from a client, as requests and as WebSocket frames: nothing crashes,
 * and nothing of it is left when the client has gone.
 *
 * The first byte says how: bit 0: after a WebSocket handshake; bit 1: in two pieces; bit 2: the
 * handlers answer later, or when the client has gone. */
#include <sys/socket.h>
#include <sys/un.h>

#include "fuzz.h"
#include "http/http.h"

enum { ECHO_BACK, STREAM, UPLOAD, WS };
static const int kinds[] = {ECHO_BACK, STREAM, UPLOAD, WS};
static const struct http_route routes[] = {
        {HTTP_GET, "/", 0, false, &kinds[ECHO_BACK]},      {HTTP_GET, "/a/{id}", 0, false, &kinds[ECHO_BACK]},
        {HTTP_POST, "/e", 1000, false, &kinds[ECHO_BACK]}, {HTTP_GET, "/s", 0, false, &kinds[STREAM]},
        {HTTP_PUT, "/u/{id}", 5000, true, &kinds[UPLOAD]}, {HTTP_GET, "/w", 0, false, &kinds[WS]},
};
static const char handshake[] =
        "GET /w HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

static uv_loop_t loop;
static struct http_server *server;
static struct sockaddr_un address;
static bool later;
static struct http_request *waiting[64];
static size_t n_waiting;
static int websockets;

static void forget(struct http_request *request, void *context)
{
        (void)context;
        for (size_t i = 0; i < n_waiting; i++)
                if (waiting[i] == request)
                        waiting[i] = NULL;
}

static void on_message(struct http_websocket *ws, bool text, const char *data, size_t len, void *context)
{
        (void)context;
        http_websocket_send(ws, text, data, len);
        if (len == 3)
                http_websocket_close(ws, 1000, "three");
}

static void on_closed(struct http_websocket *ws, void *context)
{
        (void)ws, (void)context;
        websockets--;
}

static void answer(struct http_request *request)
{
        size_t len;
        const char *body = http_body(request, &len);

        if (http_about(request) == &kinds[STREAM]) {
                http_stream(request, 200, "text/plain", http_query(request, "n") != NULL ? 10 : UINT64_MAX);
                http_stream_write(request, "0123456789", 10);
                if (http_query(request, "x") != NULL)
                        http_stream_abort(request);
                else
                        http_stream_end(request);
        } else {
                http_add_header(request, "X-Param", http_param(request, 0));
                http_reply(request, 200, "text/plain", body, len);
        }
}

static ssize_t on_body(struct http_request *request, const char *data, size_t len, void *context)
{
        (void)context;
        if (data == NULL)
                answer(request);
        else if (len > 100)
                http_body_resume(request);
        return len > 100 ? 7 : (ssize_t)len;
}

static void on_request(struct http_request *request, void *userdata)
{
        static const struct http_websocket_events events = {on_message, NULL, on_closed};
        struct http_websocket *ws;

        (void)userdata;
        if (http_about(request) == &kinds[WS])
                websockets += http_websocket_accept(request, 500, &events, NULL, &ws) == 0;
        else if (http_about(request) == &kinds[UPLOAD]) {
                http_on_gone(request, forget, NULL);
                http_body_read(request, on_body, NULL);
        } else if (later && n_waiting < sizeof(waiting) / sizeof(*waiting)) {
                if (http_query(request, "g") != NULL)
                        http_on_gone(request, forget, NULL);
                waiting[n_waiting++] = request;
        } else
                answer(request);
}

static void on_done(struct http_request *request, int status, uint64_t duration_us, void *userdata)
{
        (void)status, (void)duration_us;
        forget(request, userdata);
}

static void begin(void)
{
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        struct http_options options = {
                .loop = &loop,
                .listeners = &fd,
                .n_listeners = 1,
                .routes = routes,
                .n_routes = sizeof(routes) / sizeof(*routes),
                .connections_max = 100,
                .idle_timeout_s = 60,
                .on_request = on_request,
                .on_done = on_done,
        };
        struct cella_err err;

        address.sun_family = AF_UNIX; /* abstract: leaves no file */
        snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "cella-fuzz-http-%d", getpid());
        if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 100) < 0)
                abort();
        uv_loop_init(&loop);
        if (http_server_new(&options, &server, &err) < 0)
                abort();
}

static void turn(int fd)
{
        char nowhere[4096];

        for (int i = 0; i < 4; i++) {
                uv_run(&loop, UV_RUN_NOWAIT);
                while (recv(fd, nowhere, sizeof(nowhere), MSG_DONTWAIT) > 0)
                        ;
        }
}

static void answer_waiting(void)
{
        for (size_t i = 0; i < n_waiting; i++) {
                struct http_request *request = waiting[i];

                waiting[i] = NULL;
                if (request != NULL)
                        answer(request);
        }
        n_waiting = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        size_t half;
        uint8_t how;
        int fd;

        if (size < 1 || size > 60000)
                return 0;
        if (server == NULL)
                begin();
        how = *data++;
        size--;
        later = how & 4;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
                abort();
        if (how & 1)
                send(fd, handshake, sizeof(handshake) - 1, MSG_NOSIGNAL);
        half = how & 2 ? size / 2 : size;
        send(fd, data, half, MSG_NOSIGNAL | MSG_DONTWAIT);
        turn(fd);
        if (half < size)
                send(fd, data + half, size - half, MSG_NOSIGNAL | MSG_DONTWAIT);
        turn(fd);
        if (!(how & 8))
                answer_waiting();
        turn(fd);
        close(fd);
        for (int i = 0; i < 1000 && http_server_connections(server) > 0; i++) {
                uv_run(&loop, UV_RUN_NOWAIT);
                answer_waiting();
        }
        if (http_server_connections(server) > 0 || http_server_requests(server) > 0 || websockets != 0)
                abort();
        return 0;
}
