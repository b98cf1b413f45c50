/* http/http.h -- an HTTP server in a libuv loop: requests, replies, streams, WebSockets.
 *
 * Independent of sandboxes.  libmicrohttpd (MHD) parses and frames (its epoll descriptor is in the loop).
 * This module makes it possible to answer later: a request exists until it was answered or its client is
 * gone.
 *
 * Invariants: a client can use a limited amount of memory per connection (body, headers and unread answer
 * have maximum sizes), and no client can block the loop. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "cella.h"

#define HTTP_PARAMS_MAX 4
#define HTTP_STREAM_MAX (256u * 1024) /* unsent bytes of a stream; see http_stream_room() */

struct http_server;
struct http_request;

enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE };

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): the order that is readable in tables */
struct http_route {
        enum http_method method;
        const char *pattern; /* "/v1/sandboxes/{id}/exec"; {} matches one path segment */
        size_t body_max;     /* a longer body is refused with 413 as soon as its length is known */
        bool body_streams;   /* the handler is called before the body arrives, see http_body_read() */
        const void *about;   /* data of the caller, returned by http_about() */
};

struct http_peer {
        bool local; /* connected over the Unix socket, as uid: */
        uid_t uid;
        bool plain;       /* speaks HTTP to a TLS listener: on_headers must refuse the request */
        char address[64]; /* "unix:1000", "127.0.0.1:5123" */
};

struct http_options {
        uv_loop_t *loop;
        const int *listeners; /* listening sockets, TCP or Unix; ownership is transferred */
        size_t n_listeners;
        bool tls;                        /* the TCP listeners speak TLS; http_tls_load() was called */
        const struct http_route *routes; /* must stay valid */
        size_t n_routes;
        /* Per listener.  Above it, a new connection replaces the oldest idle one; if there is none, it
         * waits in the backlog. */
        unsigned connections_max;
        unsigned idle_timeout_s; /* of a connection without input, within a request or between two */
        /* on_headers is called when the headers have arrived, before the body is read; it may answer
         * (refuse) the request with http_reply().  on_request is called for each complete request.  For
         * unknown routes, on_error is called with 404 or 405 after on_headers, in which http_route() is
         * NULL. */
        void (*on_headers)(struct http_request *request, void *userdata);
        void (*on_request)(struct http_request *request, void *userdata);
        /* Creates the answer for requests that this layer refuses: must call http_reply(). */
        void (*on_error)(struct http_request *request, int status, const char *why, void *userdata);
        /* Called after the answer was sent or sending has failed, for logs and metrics.  Called once for
         * each request for which on_headers was called.  Status 0: the client was gone before there was an
         * answer. */
        void (*on_done)(struct http_request *request, int status, uint64_t duration_us, void *userdata);
        void *userdata;
};

/* Uses this certificate, with its chain and private key in PEM, for new connections.  On failure the one
 * before stays. */
int http_tls_load(const char *pem, size_t len, struct cella_err *err);

/* Input that is not HTTP does not reach the callbacks: MHD answers it (400, 413, 414, 431, 505) and closes.
 */
int http_server_new(const struct http_options *options, struct http_server **ret, struct cella_err *err);
/* Stops accepting connections and closes idle ones.  Active requests continue. */
void http_server_quiesce(struct http_server *server);
unsigned http_server_requests(const struct http_server *server); /* active requests, without WebSockets */
unsigned http_server_connections(const struct http_server *server);
/* Ends everything and calls on_gone and on_closed.  Must not be called from a handler.  The loop must run
 * once more afterwards, so that libuv can close its handles. */
struct http_server *http_server_free(struct http_server *server);

/* ---- the request; valid until it is done, headers until the client is gone ---- */
const struct http_route *http_route(const struct http_request *request); /* NULL: no route matches */
const void *http_about(const struct http_request *request);
enum http_method http_method(const struct http_request *request);
const char *http_method_name(const struct http_request *request);
const char *http_path(const struct http_request *request);              /* undecoded, without the query */
const char *http_param(const struct http_request *request, unsigned i); /* decoded; "" if missing */
const char *http_query(const struct http_request *request, const char *name); /* NULL if missing */
/* Calls each(name, value) for every query parameter. */
void http_each_query(const struct http_request *request, void (*each)(void *, const char *, const char *),
                     void *context);
const char *http_header(const struct http_request *request, const char *name); /* NULL if missing */
/* All headers of this name in their order, joined by commas; the caller frees the text.  NULL: none, or no
 * memory. */
char *http_header_all(const struct http_request *request, const char *name);
const struct http_peer *http_peer(const struct http_request *request);
const char *http_body(const struct http_request *request, size_t *ret_len); /* complete; followed by a NUL */
void http_set_context(struct http_request *request, void *context);         /* data of the handler */
void *http_context(const struct http_request *request);

/* ---- answering: exactly one of these, now or later, in the loop's thread ---- */
/* Copies name and value; call it before the answer.  At most 16 headers; one with a line break is ignored. */
void http_add_header(struct http_request *request, const char *name, const char *value);
/* Copies the body. */
void http_reply(struct http_request *request, int status, const char *type, const void *body, size_t len);
/* Takes ownership of body, which is freed with free(). */
void http_reply_take(struct http_request *request, int status, const char *type, char *body, size_t len);

/* Sets a function that is called at most once if the client is gone before the answer or during a stream.
 * In it, the request is still valid; it must not be answered, and not be used after it.  A client that only
 * shuts down its sending side is also treated as gone.  Without such a function, the request stays until it
 * is answered.  A handler that reads a streaming body must set one, because it has no other notification. */
void http_on_gone(struct http_request *request, void (*gone)(struct http_request *, void *), void *context);

/* Starts an answer that is written in parts: text/event-stream, a file.  length ~0: unknown (chunked). */
void http_stream(struct http_request *request, int status, const char *type, uint64_t length);
/* Copies the data.  Never fails, so check http_stream_room() before reading more from the source. */
void http_stream_write(struct http_request *request, const void *data, size_t len);
size_t http_stream_room(const struct http_request *request); /* 0: full; wait for on_room */
/* Sets a function that is called when the buffer becomes less than half full. */
void http_on_room(struct http_request *request, void (*room)(struct http_request *, void *), void *context);
/* Ends the stream.  Until then, the request belongs to the writer, even if all of a known length was
 * written. */
void http_stream_end(struct http_request *request);
/* Closes the connection before the announced length was sent, so that the client detects the error. */
void http_stream_abort(struct http_request *request);

/* ---- a streaming body (route.body_streams) ---- */
/* Sets the receiver of the body.  data(…, NULL, 0) is the end.  data() returns the number of bytes it has
 * taken; the others are passed again after http_body_resume().  -1: the rest of the body is discarded.  An
 * answer before the end is sent at once, and the connection is closed. */
void http_body_read(struct http_request *request,
                    ssize_t (*data)(struct http_request *, const char *, size_t, void *), void *context);
void http_body_resume(struct http_request *request);
uint64_t http_body_length(const struct http_request *request); /* Content-Length; ~0: unknown */

/* ---- WebSocket (RFC 6455) ---- */
struct http_websocket;
struct http_websocket_events {
        void (*on_message)(struct http_websocket *, bool text, const char *data, size_t len, void *context);
        void (*on_room)(struct http_websocket *,
                        void *context); /* the send buffer became less than half full */
        void (*on_closed)(struct http_websocket *, void *context); /* the last call; *ws is freed after it */
};
/* Sends 101, or answers 400 or 426 and returns -EINVAL if the handshake is invalid.  The request is done
 * afterwards. */
int http_websocket_accept(struct http_request *request, size_t message_max,
                          const struct http_websocket_events *events, void *context,
                          struct http_websocket **ret);
void http_websocket_send(struct http_websocket *ws, bool text, const char *data, size_t len);
size_t http_websocket_room(const struct http_websocket *ws);
/* Closes after all queued messages were sent.  on_closed is called later from the loop. */
void http_websocket_close(struct http_websocket *ws, unsigned code, const char *reason);
