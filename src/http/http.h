/* http/http.h -- an HTTP server in a libuv loop: requests, answers, streams, WebSockets.
 *
 * Knows nothing of sandboxes.  libmicrohttpd parses and frames (its epoll descriptor is one
 * of the loop's), this makes of it something that a handler can answer later: a request stays
 * until it was answered, or its client went away.
 *
 * What must stay true: one client can hold one connection's worth of memory and nothing more
 * (body, headers, unread answer all have maxima), and none can make the loop wait. */
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

/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order in which tables read well */
struct http_route {
        enum http_method method;
        const char *pattern; /* "/v1/sandboxes/{id}/exec"; a part in {} matches one path segment */
        size_t body_max;     /* a longer one is 413, as soon as that is known */
        bool body_streams;   /* the handler is called before the body, see http_body_read() */
        const void *about;   /* the owner's: what the handler finds by http_about() */
};

struct http_peer {
        bool local; /* came over the Unix socket, as uid: */
        uid_t uid;
        char address[64]; /* "unix:1000", "127.0.0.1:5123" */
};

struct http_options {
        uv_loop_t *loop;
        const int *listeners; /* sockets that listen already, TCP or Unix; taken over */
        size_t n_listeners;
        const struct http_route *routes; /* must stay */
        size_t n_routes;
        /* Per listener.  Above it a new connection takes the place of the oldest idle one; if there is
         * none it waits in the backlog. */
        unsigned connections_max;
        unsigned idle_timeout_s; /* a connection on which nothing comes, in a request or between two */
        /* Called once the headers are there, before a body is read: may answer (refuse) at once, by
         * http_reply().  Then for each whole request.  Routes that nobody has: 404, 405 by on_error,
         * after on_headers, in which http_route() is NULL then. */
        void (*on_headers)(struct http_request *request, void *userdata);
        void (*on_request)(struct http_request *request, void *userdata);
        /* Makes the answer for what this layer itself refuses: http_reply() with the body of your taste. */
        void (*on_error)(struct http_request *request, int status, const char *why, void *userdata);
        /* After the answer was sent, or could not be: for logs and metrics.  Once for each request that
         * on_headers was called for; status 0: its client left before there was an answer. */
        void (*on_done)(struct http_request *request, int status, uint64_t duration_us, void *userdata);
        void *userdata;
};

/* What is not even HTTP never gets here: MHD answers it (400, 413, 414, 431, 505) and closes. */
int http_server_new(const struct http_options *options, struct http_server **ret, struct cella_err *err);
/* No new connections; those that are idle are closed.  Requests under way go on. */
void http_server_quiesce(struct http_server *server);
unsigned http_server_requests(const struct http_server *server); /* under way; no WebSockets */
unsigned http_server_connections(const struct http_server *server);
/* Ends all: on_gone and on_closed are called from within.  Not from a handler; and the loop must run
 * once more after it, for libuv to let go of its handles. */
struct http_server *http_server_free(struct http_server *server);

/* ---- what came; valid until the request is done, headers until the client is gone ---- */
const struct http_route *http_route(const struct http_request *request); /* NULL: none matches */
const void *http_about(const struct http_request *request);
enum http_method http_method(const struct http_request *request);
const char *http_method_name(const struct http_request *request);
const char *http_path(const struct http_request *request);              /* as it came, without the query */
const char *http_param(const struct http_request *request, unsigned i); /* decoded; "" if there is none */
const char *http_query(const struct http_request *request, const char *name); /* NULL if it is not there */
/* Calls each(name, value) for every query parameter. */
void http_each_query(const struct http_request *request, void (*each)(void *, const char *, const char *),
                     void *context);
const char *http_header(const struct http_request *request, const char *name); /* NULL */
const struct http_peer *http_peer(const struct http_request *request);
const char *http_body(const struct http_request *request, size_t *ret_len); /* whole; NUL after it */
void http_set_context(struct http_request *request, void *context);         /* the handler's own */
void *http_context(const struct http_request *request);

/* ---- answering: exactly one of these, now or later, from the loop's thread ---- */
/* Copies name and value; before the answer.  At most 16; one with a line break in it is left out. */
void http_add_header(struct http_request *request, const char *name, const char *value);
/* The body is copied. */
void http_reply(struct http_request *request, int status, const char *type, const void *body, size_t len);
/* The same; takes body, which is free()d. */
void http_reply_take(struct http_request *request, int status, const char *type, char *body, size_t len);

/* The client went away before it was answered (or in the middle of a stream): called at most once.
 * The request is still there in it and must not be answered, nor used, after it.  A client that
 * ends its sending side only is gone, too.  Without one, the request stays until it is answered;
 * who reads a body as it comes must have one, as nothing else would tell. */
void http_on_gone(struct http_request *request, void (*gone)(struct http_request *, void *), void *context);

/* An answer whose length is not known: text/event-stream, a file.  length ~0: not known (chunked). */
void http_stream(struct http_request *request, int status, const char *type, uint64_t length);
/* Copies.  Never refuses, so check for room before reading more from whoever writes. */
void http_stream_write(struct http_request *request, const void *data, size_t len);
size_t http_stream_room(const struct http_request *request); /* 0: full; wait for on_room */
/* Called when it is less than half full, after it was more. */
void http_on_room(struct http_request *request, void (*room)(struct http_request *, void *), void *context);
/* The request is the writer's until this call, also when all of a known length is written. */
void http_stream_end(struct http_request *request);
/* The promised length cannot be kept: closes the connection, so that the client notices. */
void http_stream_abort(struct http_request *request);

/* ---- a body that streams in (route.body_streams) ---- */
/* data(…, NULL, 0) is its end.  Bytes not taken (the return value says how many were) stay, and
 * come again after http_body_resume().  -1 from data(): the body is of no more interest; what comes
 * of it is thrown away.  An answer before the end is sent at once and the connection closed. */
void http_body_read(struct http_request *request,
                    ssize_t (*data)(struct http_request *, const char *, size_t, void *), void *context);
void http_body_resume(struct http_request *request);
uint64_t http_body_length(const struct http_request *request); /* Content-Length; ~0: not said */

/* ---- WebSocket (RFC 6455) ---- */
struct http_websocket;
struct http_websocket_events {
        void (*on_message)(struct http_websocket *, bool text, const char *data, size_t len, void *context);
        void (*on_room)(struct http_websocket *, void *context);   /* unsent: less than half, after more */
        void (*on_closed)(struct http_websocket *, void *context); /* last call; *ws is gone after it */
};
/* 101, or answers 400/426 itself and returns -EINVAL if this is not a proper handshake.  The
 * request is done by it. */
int http_websocket_accept(struct http_request *request, size_t message_max,
                          const struct http_websocket_events *events, void *context,
                          struct http_websocket **ret);
void http_websocket_send(struct http_websocket *ws, bool text, const char *data, size_t len);
size_t http_websocket_room(const struct http_websocket *ws);
/* After what was sent has left.  on_closed follows, from the loop. */
void http_websocket_close(struct http_websocket *ws, unsigned code, const char *reason);
