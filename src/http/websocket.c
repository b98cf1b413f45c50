/* http/websocket.c -- WebSockets: wslay handles frames, MHD passes the socket, libuv reports events.
 *
 * Lifetime.  http_websocket_accept() creates the object and queues the 101.  MHD calls on_upgrade() after
 * it was sent, and the socket is ours until MHD_UPGRADE_ACTION_CLOSE.  on_closed is always called from the
 * loop and never within a call of the owner.
 *
 * Limits.  Messages are assembled here and not by wslay, which allocates a block for each fragment: a
 * client that sends a message byte by byte would make it use fifty times its size.  Nothing more is read
 * while the unsent data exceeds the maximum or many replies to pings are unsent.
 *
 * wslay sends control frames first, and nothing after a close.  So the close frame is kept here until all
 * data before it was sent. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <wslay/wslay.h>

#include "base/auto.h"
#include "http/handshake.h"
#include "http/internal.h"

#define TURN_BYTES (256u * 1024) /* read per iteration, then other clients are served */
#define FRAMES_MAX 256           /* unsent frames */
#define KEEP_BYTES (16u * 1024)  /* message buffer kept between two messages */
#define REASON_MAX 123

struct http_websocket {
        struct http_server *server;
        struct http_websocket *prev, *next;
        struct http_websocket_events events;
        void *context;
        size_t message_max;
        char accept[HANDSHAKE_ACCEPT_SIZE];
        wslay_event_context_ptr wslay;
        struct MHD_UpgradeResponseHandle *upgrade; /* NULL: the 101 was not sent yet */
        uv_poll_t poll;
        int fd, events_polled;
        char *early; /* data received with the handshake */
        size_t early_len, early_at;
        char *message;
        size_t len, size;
        bool control; /* the incoming frame is a control frame */
        bool busy;    /* called by wslay */
        bool closing; /* closed by us */
        bool failed;  /* the loop must end it */
        bool peer_ended;
        bool wants_room;
        unsigned close_code;
        char close_reason[REASON_MAX + 1];
        size_t turn; /* bytes left to read in this iteration */
        uint64_t heard, pinged, moved, close_by;
};

static void websocket_on_event(uv_poll_t *poll, int status, int events);

static uint64_t now(const struct http_websocket *ws)
{
        return uv_now(ws->server->options.loop);
}

/* ---- end ---- */

static void ws_free(struct http_websocket *ws)
{
        wslay_event_context_free(ws->wslay);
        free(ws->early);
        free(ws->message);
        free(ws);
}

static void on_poll_closed(uv_handle_t *handle)
{
        struct http_websocket *ws = handle->data;
        struct http_server *server = ws->server;

        ws_free(ws);
        server_release(server);
}

static void ws_unlink(struct http_websocket *ws)
{
        if (ws->prev != NULL)
                ws->prev->next = ws->next;
        else
                ws->server->websockets = ws->next;
        if (ws->next != NULL)
                ws->next->prev = ws->prev;
}

void websocket_failed(struct http_websocket *ws)
{
        ws_unlink(ws);
        if (ws->events.on_closed != NULL)
                ws->events.on_closed(ws, ws->context);
        ws_free(ws);
}

static void ws_end(struct http_websocket *ws)
{
        ws_unlink(ws);
        if (ws->events.on_closed != NULL)
                ws->events.on_closed(ws, ws->context);
        uv_close((uv_handle_t *)&ws->poll, on_poll_closed);
        shutdown(ws->fd, SHUT_WR);
        if (!ws->peer_ended)
                linger_start(ws->server, ws->fd);
        MHD_upgrade_action(ws->upgrade, MHD_UPGRADE_ACTION_CLOSE);
        ws->server->due = true;
}

void websockets_end_all(struct http_server *server)
{
        for (struct http_websocket *ws = server->websockets, *next; ws != NULL; ws = next) {
                next = ws->next;
                if (ws->upgrade != NULL)
                        ws_end(ws); /* the others end with their requests */
        }
}

/* ---- frames ---- */

static void websocket_fail(struct http_websocket *ws, unsigned code)
{
        wslay_event_queue_close(ws->wslay, (uint16_t)code, NULL, 0);
        wslay_event_shutdown_read(ws->wslay);
}

static bool choked(const struct http_websocket *ws)
{
        return wslay_event_get_queued_msg_count(ws->wslay) > FRAMES_MAX ||
               wslay_event_get_queued_msg_length(ws->wslay) > HTTP_STREAM_MAX;
}

static ssize_t websocket_receive(wslay_event_context_ptr ctx, uint8_t *to, size_t len, int flags,
                                 void *userdata)
{
        struct http_websocket *ws = userdata;
        ssize_t n;

        (void)flags;
        if (ws->early_at < ws->early_len) {
                n = (ssize_t)(len < ws->early_len - ws->early_at ? len : ws->early_len - ws->early_at);
                memcpy(to, ws->early + ws->early_at, (size_t)n);
                ws->early_at += (size_t)n;
                return n;
        }
        if (ws->turn == 0 || choked(ws)) {
                wslay_event_set_error(ctx, WSLAY_ERR_WOULDBLOCK);
                return -1;
        }
        do
                n = recv(ws->fd, to, len < ws->turn ? len : ws->turn, MSG_DONTWAIT);
        while (n < 0 && errno == EINTR);
        if (n > 0) {
                ws->turn -= (size_t)n;
                ws->heard = now(ws);
                return n;
        }
        if (n < 0 && errno == EAGAIN) {
                wslay_event_set_error(ctx, WSLAY_ERR_WOULDBLOCK);
                return -1;
        }
        ws->peer_ended = true;
        wslay_event_set_error(ctx, WSLAY_ERR_CALLBACK_FAILURE);
        return -1;
}

static ssize_t transmit(wslay_event_context_ptr ctx, const uint8_t *data, size_t len, int flags,
                        void *userdata)
{
        struct http_websocket *ws = userdata;
        int more = flags & WSLAY_MSG_MORE ? MSG_MORE : 0;
        ssize_t n;

        do
                n = send(ws->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL | more);
        while (n < 0 && errno == EINTR);
        if (n > 0) {
                ws->moved = now(ws);
                return n;
        }
        wslay_event_set_error(ctx,
                              n < 0 && errno == EAGAIN ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
        return -1;
}

static void on_frame(wslay_event_context_ptr ctx, const struct wslay_event_on_frame_recv_start_arg *frame,
                     void *userdata)
{
        struct http_websocket *ws = userdata;

        (void)ctx;
        ws->control = wslay_is_ctrl_frame(frame->opcode);
        if (!ws->control && frame->payload_length > ws->message_max - ws->len)
                websocket_fail(ws, WSLAY_CODE_MESSAGE_TOO_BIG);
}

static void on_payload(wslay_event_context_ptr ctx, const struct wslay_event_on_frame_recv_chunk_arg *chunk,
                       void *userdata)
{
        struct http_websocket *ws = userdata;
        size_t need = ws->len + chunk->data_length + 1;

        if (ws->control || !wslay_event_get_read_enabled(ctx))
                return;
        if (need > ws->size) {
                size_t size = ws->size > 0 ? ws->size : 1024;
                char *grown;

                while (size < need)
                        size *= 2;
                grown = realloc(ws->message, size);
                if (grown == NULL) {
                        websocket_fail(ws, WSLAY_CODE_INTERNAL_SERVER_ERROR);
                        return;
                }
                ws->message = grown;
                ws->size = size;
        }
        memcpy(ws->message + ws->len, chunk->data, chunk->data_length);
        ws->len += chunk->data_length;
        ws->message[ws->len] = '\0';
}

static void on_whole(wslay_event_context_ptr ctx, const struct wslay_event_on_msg_recv_arg *message,
                     void *userdata)
{
        struct http_websocket *ws = userdata;
        size_t len = ws->len;

        if (wslay_is_ctrl_frame(message->opcode))
                return;
        ws->len = 0;
        if (ws->closing || !wslay_event_get_read_enabled(ctx))
                return;
        if (ws->events.on_message != NULL)
                ws->events.on_message(ws, message->opcode == WSLAY_TEXT_FRAME,
                                      ws->message != NULL ? ws->message : "", len, ws->context);
        if (ws->size > KEEP_BYTES) {
                free(TAKE(ws->message));
                ws->size = 0;
        }
}

static const struct wslay_event_callbacks callbacks = {
        .recv_callback = websocket_receive,
        .send_callback = transmit,
        .on_frame_recv_start_callback = on_frame,
        .on_frame_recv_chunk_callback = on_payload,
        .on_msg_recv_callback = on_whole,
};

/* ---- in the loop ---- */

static void websocket_flush(struct http_websocket *ws)
{
        if (wslay_event_send(ws->wslay) < 0)
                ws->failed = true;
        if (ws->closing && !ws->failed && wslay_event_get_queued_msg_count(ws->wslay) == 0 &&
            wslay_event_get_write_enabled(ws->wslay)) {
                wslay_event_queue_close(ws->wslay, (uint16_t)ws->close_code,
                                        (const uint8_t *)ws->close_reason, strlen(ws->close_reason));
                if (wslay_event_send(ws->wslay) < 0)
                        ws->failed = true;
        }
}

static void poll_again(struct http_websocket *ws)
{
        int events = ws->failed ? UV_WRITABLE : 0; /* reported at once */

        if (!choked(ws) && wslay_event_want_read(ws->wslay))
                events |= UV_READABLE;
        if (wslay_event_want_write(ws->wslay))
                events |= UV_WRITABLE;
        if (events != ws->events_polled)
                uv_poll_start(&ws->poll, events, websocket_on_event);
        ws->events_polled = events;
}

static void report_room(struct http_websocket *ws)
{
        if (!ws->wants_room || wslay_event_get_queued_msg_length(ws->wslay) >= HTTP_STREAM_MAX / 2)
                return;
        ws->wants_room = false;
        if (ws->events.on_room != NULL && !ws->closing)
                ws->events.on_room(ws, ws->context);
}

static void websocket_on_event(uv_poll_t *poll, int status, int events)
{
        struct http_websocket *ws = poll->data;

        if (status < 0)
                ws->failed = true;
        ws->busy = true;
        ws->turn = TURN_BYTES;
        if (!ws->failed && (events & UV_READABLE || ws->early_at < ws->early_len) &&
            wslay_event_recv(ws->wslay) < 0)
                ws->failed = true;
        if (!ws->failed)
                websocket_flush(ws);
        if (!ws->failed)
                report_room(ws);
        if (!ws->failed) /* data written by on_room */
                websocket_flush(ws);
        ws->busy = false;

        if (ws->failed || (!wslay_event_want_read(ws->wslay) && !wslay_event_want_write(ws->wslay)))
                ws_end(ws);
        else
                poll_again(ws);
}

static void on_upgrade(void *cls, struct MHD_Connection *mhd, void *context, const char *extra,
                       size_t extra_len, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
        struct http_request *request = context;
        struct http_websocket *ws = TAKE(request->websocket);
        int on = 1;

        (void)cls, (void)mhd;
        request_finish(request);
        ws->upgrade = handle;
        ws->fd = fd;
        ws->heard = ws->moved = now(ws);
        if (extra_len > 0) {
                ws->early = malloc(extra_len);
                if (ws->early != NULL) {
                        memcpy(ws->early, extra, extra_len);
                        ws->early_len = extra_len;
                }
        }
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on,
                   sizeof(on)); /* fails on a Unix socket, which has no delay */
        if (uv_poll_init(ws->server->options.loop, &ws->poll, fd) < 0 ||
            (extra_len > 0 && ws->early == NULL)) {
                /* Out of memory: the loop has not seen the object. */
                MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
                websocket_failed(ws);
                return;
        }
        ws->server->handles++;
        ws->poll.data = ws;
        ws->events_polled = UV_READABLE | UV_WRITABLE; /* the first event comes at once */
        uv_poll_start(&ws->poll, ws->events_polled, websocket_on_event);
}

static void websocket_tick(struct http_websocket *ws, uint64_t at)
{
        const struct http_server *server = ws->server;
        uint64_t stuck_ms = (uint64_t)server->options.idle_timeout_s * 1000;

        if (at - ws->heard >= server->limits.silence_ms || (ws->closing && at >= ws->close_by) ||
            (wslay_event_want_write(ws->wslay) && at - ws->moved >= stuck_ms)) {
                ws_end(ws);
                return;
        }
        if (at - ws->heard < server->limits.ping_ms || at - ws->pinged < server->limits.ping_ms)
                return;
        ws->pinged = at;
        wslay_event_queue_msg(ws->wslay, &(struct wslay_event_msg){.opcode = WSLAY_PING});
        websocket_flush(ws);
        poll_again(ws);
}

void websockets_sweep(struct http_server *server)
{
        uint64_t at = uv_now(server->options.loop);

        for (struct http_websocket *ws = server->websockets, *next; ws != NULL; ws = next) {
                next = ws->next;
                if (ws->upgrade != NULL)
                        websocket_tick(ws, at);
        }
}

/* ---- called by the owner ---- */

struct MHD_Response *websocket_response(struct http_request *request)
{
        struct MHD_Response *response = MHD_create_response_for_upgrade(on_upgrade, NULL);

        if (response == NULL)
                return NULL;
        MHD_add_response_header(response, "Upgrade", "websocket");
        MHD_add_response_header(response, "Sec-WebSocket-Accept", request->websocket->accept);
        return response;
}

int http_websocket_accept(struct http_request *request, size_t message_max,
                          const struct http_websocket_events *events, void *context,
                          struct http_websocket **ret)
{
        struct http_websocket *ws;
        const char *why;
        int status;

        if (request->answered || request->gone)
                return -EINVAL;
        if (request->connection == NULL) { /* no client, but it ends the request */
                http_reply(request, 400, NULL, NULL, 0);
                return -EINVAL;
        }
        status = handshake_check(request, &why);
        if (status == 426) {
                http_add_header(request, "Upgrade", "websocket");
                http_add_header(request, "Sec-WebSocket-Version", "13");
        }
        if (status != 0) {
                request_refuse(request, status, why);
                return -EINVAL;
        }
        ws = calloc(1, sizeof(*ws));
        if (ws == NULL || wslay_event_context_server_init(&ws->wslay, &callbacks, ws) < 0) {
                free(ws);
                request_refuse(request, 503, "not enough memory for the WebSocket");
                return -ENOMEM;
        }
        wslay_event_config_set_no_buffering(ws->wslay, 1);
        wslay_event_config_set_max_recv_msg_length(ws->wslay, message_max);
        handshake_accept(http_header(request, "Sec-WebSocket-Key"), ws->accept);
        ws->server = request->server;
        ws->events = *events;
        ws->context = context;
        ws->message_max = message_max;
        ws->next = ws->server->websockets;
        if (ws->next != NULL)
                ws->next->prev = ws;
        ws->server->websockets = ws;

        *ret = ws;
        request->websocket = ws;
        request->reply.status = MHD_HTTP_SWITCHING_PROTOCOLS;
        request_answered(request);
        return 0;
}

/* Sends the queued data now, unless called by wslay or before the upgrade. */
static void websocket_push(struct http_websocket *ws)
{
        if (ws->busy || ws->upgrade == NULL)
                return;
        websocket_flush(ws);
        poll_again(ws);
}

void http_websocket_send(struct http_websocket *ws, bool text, const char *data, size_t len)
{
        struct wslay_event_msg message = {
                .opcode = text ? WSLAY_TEXT_FRAME : WSLAY_BINARY_FRAME,
                .msg = (const uint8_t *)data,
                .msg_length = len,
        };

        if (ws->closing || ws->failed)
                return;
        if (wslay_event_queue_msg(ws->wslay, &message) == WSLAY_ERR_NOMEM)
                ws->failed = true; /* closing is better than a gap in the data */
        websocket_push(ws);
        if (wslay_event_get_queued_msg_length(ws->wslay) >= HTTP_STREAM_MAX / 2)
                ws->wants_room = true;
}

size_t http_websocket_room(const struct http_websocket *ws)
{
        size_t unsent = wslay_event_get_queued_msg_length(ws->wslay);

        return unsent < HTTP_STREAM_MAX ? HTTP_STREAM_MAX - unsent : 0;
}

void http_websocket_close(struct http_websocket *ws, unsigned code, const char *reason)
{
        if (ws->closing)
                return;
        ws->closing = true;
        ws->close_code = code;
        strncpy(ws->close_reason, reason != NULL ? reason : "", REASON_MAX);
        ws->close_by = now(ws) + ws->server->limits.close_ms;
        websocket_push(ws);
}
