/* http/internal.h -- declarations shared by the files of this folder.  request.c explains the design. */
#pragma once
#include <microhttpd.h>

#include "http/http.h"
#include "http/router.h"
#include "http/target.h"

/* The memory pool contains the headers of a request and of its answer, and so limits both. */
#define HTTP_POOL_BYTES (16u * 1024)
#define HTTP_REPLY_HEADERS_MAX 16

/* Time limits; tests use short ones. */
struct http_limits {
        uint64_t sweep_ms;
        uint64_t headers_ms; /* from the request line to the end of the headers */
        uint64_t fresh_ms;   /* a newer connection is not closed to make room for another */
        uint64_t body_ms;    /* for a complete body that is buffered */
        uint64_t ping_ms;    /* silence of a WebSocket before a ping */
        uint64_t silence_ms; /* silence before it is closed */
        uint64_t close_ms;   /* for the reply to a close frame */
};

/* ---- connection.c: client connections ---- */
enum phase {
        PHASE_IDLE,    /* between two requests: may be closed to make room for another */
        PHASE_HEADERS, /* the request line has arrived */
        PHASE_BODY,    /* a buffered body is arriving */
        PHASE_BUSY,    /* the handler works, or the client reads */
        PHASES
};

struct connection {
        struct http_server *server;
        struct listener *listener;
        struct MHD_Connection *mhd;
        int fd;
        bool tls;
        enum phase phase;
        unsigned nudges;                /* number of nudges given to MHD because of: */
        bool hup;                       /* the client has shut down its side or is gone */
        uint64_t since;                 /* start of the phase */
        struct connection *prev, *next; /* connections in the same phase, oldest first */
        struct http_request *request;
        struct http_peer peer;
};

struct listener;
struct connection_list {
        struct connection *first, *last;
};

/* Callback of MHD: a connection was opened or closed. */
void connection_notify(void *cls, struct MHD_Connection *mhd, void **context,
                       enum MHD_ConnectionNotificationCode code);
void connection_enter(struct connection *connection, enum phase phase);
/* Reads the server's epoll of connections to find clients that are gone. */
void connections_check_gone(struct http_server *server);
void connections_sweep(struct http_server *server);
void connections_close_idle(struct http_server *server);
/* At the maximum: whether there is an idle connection to replace; closes it. */
bool connection_can_give_way(const struct listener *listener);
void connection_make_room(struct listener *listener);
void connections_end_all(struct http_server *server);
struct connection *connection_of(struct MHD_Connection *mhd);
void connection_reap(struct connection *connection); /* MHD has closed the connection and may not notice */

/* ---- server.c ---- */
struct listener {
        struct http_server *server;
        int fd; /* -1: closed */
        bool local, tls;
        bool stopped; /* not polled: too many connections, or no descriptors left */
        unsigned connections;
        uv_poll_t poll;
};

struct http_server {
        struct http_options options;
        struct http_limits limits;
        struct router *router;
        struct MHD_Daemon *daemon, *tls_daemon; /* the second one: NULL without TLS */
        int gone_fd;                            /* epoll of all connections for hang-ups */
        struct listener *listeners;
        struct listener *accepting; /* during MHD_add_connection() */
        bool accepting_tls;         /* and the connection is for tls_daemon */
        struct connection_list phases[PHASES];
        struct http_websocket *websockets;
        struct straggler *lingering;
        unsigned n_lingering;
        unsigned connections, requests;
        unsigned n_hups; /* connections whose client is gone and that are not closed yet */
        bool quiescing;
        bool ending;      /* http_server_free() is running: all callbacks of MHD return MHD_NO */
        bool freed;       /* http_server_free() has returned; the last handle frees the rest */
        bool due;         /* MHD must run before the loop waits */
        bool recheck;     /* on_gone was set after the client was gone */
        unsigned handles; /* open libuv handles and requests without a connection */
        uv_poll_t daemon_poll, tls_poll, gone_poll;
        uv_prepare_t prepare;
        uv_idle_t idle;
        uv_timer_t sweep;
};

void server_release(struct http_server *server); /* one of the handles was closed */
void server_sweep(uv_timer_t *timer);
void listener_continue(struct listener *listener); /* connections can be accepted again */

/* ---- request.c ---- */
enum held { /* the point at which MHD is suspended until it is resumed */
            HELD_NOT,
            HELD_HEADERS,
            HELD_BODY,
            HELD_WHOLE,
            HELD_STREAM
};

struct reply_header {
        char *name, *value;
};

struct reply {
        int status;
        char *type;
        char *body;
        size_t len;
        struct reply_header headers[HTTP_REPLY_HEADERS_MAX];
        unsigned n_headers;
};

struct stream {
        char *data;
        size_t start, end, size; /* data[start..end) is unsent */
        uint64_t length, taken;  /* total length, ~0: unknown; bytes passed to MHD */
        bool on, ended, aborted;
        bool broken;     /* a write was lost because of missing memory */
        bool wants_room; /* it was more than half full */
        void (*room)(struct http_request *, void *);
        void *room_context;
};

struct body {
        char *data;
        size_t len, size;
        uint64_t length; /* Content-Length, ~0: unknown */
        bool expected;   /* the request has a body */
        bool chunked;
        bool malformed; /* its headers contradict each other */
        bool whole;
        bool end_reported;
        bool unwanted;
        ssize_t (*read)(struct http_request *, const char *, size_t, void *);
        void *read_context;
        bool resume; /* http_body_resume() was called in read() */
};

struct http_request {
        struct http_server *server;
        struct connection *connection; /* NULL: closed, and the handler does not know yet */
        struct target *target;
        const struct http_route *route;
        const char *params[HTTP_PARAMS_MAX];
        const char *method_name;
        const char *target_end; /* end of the raw target in MHD's buffer; only for head_check() */
        enum http_method method;
        enum held held;
        bool old;        /* HTTP/1.0: a stream ends with the connection */
        bool head;       /* HEAD: GET without the body */
        bool inside;     /* called by MHD: the answer is queued before returning */
        bool begun;      /* on_headers was called */
        bool handed;     /* the handler has the request */
        bool at_headers; /* MHD repeats the call for the headers */
        bool answered;   /* the handler has answered; a stream may continue */
        bool queued;     /* MHD has the answer */
        bool cut;        /* answered without MHD; to be closed */
        bool early;      /* answered before the body was read */
        bool last;       /* the connection is closed after the answer */
        bool gone;       /* the client is gone and the handler knows it */
        bool done;       /* on_done was called */
        int64_t start_us;
        struct http_peer peer;
        struct reply reply;
        struct body body;
        struct stream stream;
        struct http_websocket *websocket; /* during the upgrade */
        void (*on_gone)(struct http_request *, void *);
        void *gone_context;
        void *context;
};

/* Callbacks of MHD. */
void *request_begin(void *cls, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result request_handle(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                               const char *version, const char *data, size_t *data_len, void **context);
void request_completed(void *cls, struct MHD_Connection *mhd, void **context,
                       enum MHD_RequestTerminationCode why);

void request_client_gone(struct http_request *request); /* its connection was closed by the client */
void request_abandon(struct http_request *request);     /* the server ends */
void request_hold(struct http_request *request, enum held held);
void request_continue(struct http_request *request);
void request_answered(struct http_request *request); /* reply, stream or websocket was set */
/* The handler has ended its stream: only MHD keeps the request. */
void request_release(struct http_request *request);
void request_finish(struct http_request *request); /* calls on_done once */
void request_refuse(struct http_request *request, int status, const char *why);

/* ---- head.c ---- */
/* Returns NULL, or the reason why the head is ambiguous.  Call it when the headers have arrived. */
const char *head_check(const struct http_request *request, const char *method, const char *version);
/* Returns true if the HTTP parser refuses a chunked body that has a line without CR LF. */
bool head_chunks_are_strict(void);

/* ---- body.c ---- */
void body_expect(struct http_request *request); /* reads the headers about the body */
/* Returns 0, or the status of the refusal. */
int body_begin(struct http_request *request, const char **ret_why);
enum MHD_Result body_part(struct http_request *request, const char *data, size_t *data_len);
void body_end(struct http_request *request);

/* ---- answer.c ---- */
bool answer_begin(struct http_request *request, int status, const char *type); /* false: already answered */
enum MHD_Result answer_queue(struct http_request *request);
/* Writes the answer to the socket without MHD, which accepts no answer within a body; ends the connection. */
void answer_cut(struct http_request *request);
void reply_done(struct reply *reply);
struct MHD_Response *answer_finish(struct http_request *request, struct MHD_Response *response);

/* ---- stream.c ---- */
struct MHD_Response *stream_response(struct http_request *request);
bool stream_needs_end(const struct http_request *request); /* queued only after its end */
void http_stream_done(struct stream *stream);

/* ---- linger.c: reads some more data of a refused client, so that the client sees the answer ---- */
void linger_start(struct http_server *server, int fd);
void linger_sweep(struct http_server *server);
void linger_end_all(struct http_server *server);

/* ---- websocket.c ---- */
struct MHD_Response *websocket_response(struct http_request *request);
void websocket_failed(struct http_websocket *ws); /* the connection was closed before the upgrade */
void websockets_sweep(struct http_server *server);
void websockets_end_all(struct http_server *server);
