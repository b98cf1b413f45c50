/* http/internal.h -- what the files of this folder share.  The story is in request.c. */
#pragma once
#include <microhttpd.h>

#include "http/http.h"
#include "http/router.h"
#include "http/target.h"

/* A pool holds the headers of a request and of its answer: the bound on both. */
#define HTTP_POOL_BYTES (16u * 1024)
#define HTTP_REPLY_HEADERS_MAX 16

/* How long things may take; the tests make them short. */
struct http_limits {
        uint64_t sweep_ms;
        uint64_t headers_ms; /* from the request line to the end of the headers */
        uint64_t fresh_ms;   /* a connection is not closed for another's sake before */
        uint64_t body_ms;    /* for all of a body that is kept */
        uint64_t ping_ms;    /* of a WebSocket's silence, until it is pinged */
        uint64_t silence_ms; /* and until it is ended */
        uint64_t close_ms;   /* for the answer to a close */
};

/* ---- connection.c: the clients ---- */
enum phase {
        PHASE_IDLE,    /* between two requests: may be closed for another's sake */
        PHASE_HEADERS, /* a request line came */
        PHASE_BODY,    /* a body that is kept */
        PHASE_BUSY,    /* the handler has it, or the client reads */
        PHASES
};

struct connection {
        struct http_server *server;
        struct listener *listener;
        struct MHD_Connection *mhd;
        int fd;
        enum phase phase;
        unsigned nudges;                /* given to MHD because of: */
        bool hup;                       /* the client ended its side, or is gone */
        uint64_t since;                 /* of the phase */
        struct connection *prev, *next; /* of the same phase, oldest first */
        struct http_request *request;
        struct http_peer peer;
};

struct listener;
struct connection_list {
        struct connection *first, *last;
};

/* MHD's callback: a connection comes or goes. */
void connection_notify(void *cls, struct MHD_Connection *mhd, void **context,
                       enum MHD_ConnectionNotificationCode code);
void connection_enter(struct connection *connection, enum phase phase);
/* Reads what clients went away: the server's epoll of connections. */
void connections_check_gone(struct http_server *server);
void connections_sweep(struct http_server *server);
void connections_close_idle(struct http_server *server);
/* At the maximum: is there an idle one to close for a new one; closes it. */
bool connection_can_give_way(const struct listener *listener);
void connection_make_room(struct listener *listener);
void connections_end_all(struct http_server *server);
struct connection *connection_of(struct MHD_Connection *mhd);
void connection_reap(struct connection *connection); /* MHD has closed it, and may not know */

/* ---- server.c ---- */
struct listener {
        struct http_server *server;
        int fd; /* -1: closed */
        bool local;
        bool stopped; /* not looked at: full, or no descriptors left */
        unsigned connections;
        uv_poll_t poll;
};

struct http_server {
        struct http_options options;
        struct http_limits limits;
        struct router *router;
        struct MHD_Daemon *daemon;
        int gone_fd; /* epoll of every connection: who hung up */
        struct listener *listeners;
        struct listener *accepting; /* while MHD_add_connection() runs */
        struct connection_list phases[PHASES];
        struct http_websocket *websockets;
        struct straggler *lingering;
        unsigned n_lingering;
        unsigned connections, requests;
        unsigned n_hups; /* connections whose clients have left, and that are not closed yet */
        bool quiescing;
        bool ending;      /* http_server_free() is at work: whatever MHD asks, the answer is no */
        bool freed;       /* it was, and what is left goes with the last handle */
        bool due;         /* MHD has something to do before the loop waits */
        bool recheck;     /* an on_gone was set for a client that had left */
        unsigned handles; /* of libuv's that are not closed yet, and requests without a connection */
        uv_poll_t daemon_poll, gone_poll;
        uv_prepare_t prepare;
        uv_idle_t idle;
        uv_timer_t sweep;
};

void server_release(struct http_server *server); /* one of its handles is no more */
void server_sweep(uv_timer_t *timer);
void listener_go_on(struct listener *listener); /* there is room again */

/* ---- request.c ---- */
enum held { /* where MHD stands still, until it is resumed */
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
        size_t start, end, size; /* data[start..end) is to be sent */
        uint64_t length, taken;  /* of the whole; ~0: not known */
        bool on, ended, aborted;
        bool broken;     /* a write was lost for want of memory */
        bool wants_room; /* it was more than half full */
        void (*room)(struct http_request *, void *);
        void *room_context;
};

struct body {
        char *data;
        size_t len, size;
        uint64_t length; /* as promised, ~0: not said */
        bool expected;   /* there is one */
        bool chunked;
        bool malformed; /* its headers contradict each other */
        bool whole;
        bool end_told;
        bool unwanted;
        ssize_t (*read)(struct http_request *, const char *, size_t, void *);
        void *read_context;
        bool resume; /* http_body_resume() within read() */
};

struct http_request {
        struct http_server *server;
        struct connection *connection; /* NULL: gone, and the handler does not know yet */
        struct target *target;
        const struct http_route *route;
        const char *params[HTTP_PARAMS_MAX];
        const char *method_name;
        const char *target_end; /* of the target as it came, in MHD's buffer; for head_check() only */
        enum http_method method;
        enum held held;
        bool old;        /* HTTP/1.0: a stream ends with the connection */
        bool head;       /* HEAD: GET without the body */
        bool inside;     /* MHD calls us: it takes the answer when we return */
        bool begun;      /* its headers are there, the owner knows of it */
        bool handed;     /* the handler has it */
        bool at_headers; /* MHD repeats the call for the headers */
        bool answered;   /* the handler has let go of it, but for a stream that goes on */
        bool queued;     /* MHD has the answer */
        bool cut;        /* answered past MHD; to be closed */
        bool early;      /* answered before its body was read */
        bool last;       /* the connection is closed after the answer */
        bool gone;       /* the client left, and the handler knows */
        bool done;       /* on_done was called */
        int64_t start_us;
        struct http_peer peer;
        struct reply reply;
        struct body body;
        struct stream stream;
        struct http_websocket *websocket; /* being upgraded */
        void (*on_gone)(struct http_request *, void *);
        void *gone_context;
        void *context;
};

/* MHD's callbacks. */
void *request_begin(void *cls, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result request_handle(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                               const char *version, const char *data, size_t *data_len, void **context);
void request_completed(void *cls, struct MHD_Connection *mhd, void **context,
                       enum MHD_RequestTerminationCode why);

void request_client_gone(struct http_request *request); /* its connection hung up */
void request_abandon(struct http_request *request);     /* the server ends */
void request_hold(struct http_request *request, enum held held);
void request_go_on(struct http_request *request);
void request_answered(struct http_request *request); /* reply, stream or websocket was filled in */
/* The handler ended a stream: nothing keeps the request but MHD. */
void request_let_go(struct http_request *request);
void request_finish(struct http_request *request); /* on_done; once */
void request_refuse(struct http_request *request, int status, const char *why);

/* ---- head.c ---- */
/* NULL, or what makes the head ambiguous.  When the headers are there. */
const char *head_check(const struct http_request *request, const char *method, const char *version);
/* Whether the HTTP parser refuses a chunked body if one of its lines does not end in CR LF. */
bool head_chunks_are_strict(void);

/* ---- body.c ---- */
void body_expect(struct http_request *request); /* what the headers say of it */
/* 0, or the status to refuse it with. */
int body_begin(struct http_request *request, const char **ret_why);
enum MHD_Result body_part(struct http_request *request, const char *data, size_t *data_len);
void body_end(struct http_request *request);

/* ---- answer.c ---- */
bool answer_begin(struct http_request *request, int status, const char *type); /* false: too late */
enum MHD_Result answer_queue(struct http_request *request);
/* Writes the answer past MHD, which takes none in the middle of a body; the connection ends by it. */
void answer_cut(struct http_request *request);
void reply_done(struct reply *reply);
struct MHD_Response *answer_finish(struct http_request *request, struct MHD_Response *response);

/* ---- stream.c ---- */
struct MHD_Response *stream_response(struct http_request *request);
bool stream_needs_end(const struct http_request *request); /* queued when it has ended, not before */
void stream_done(struct stream *stream);

/* ---- linger.c: read a little of what a refused client still sends, lest it never sees why ---- */
void linger_start(struct http_server *server, int fd);
void linger_sweep(struct http_server *server);
void linger_end_all(struct http_server *server);

/* ---- websocket.c ---- */
struct MHD_Response *websocket_response(struct http_request *request);
void websocket_failed(struct http_websocket *ws); /* the connection ended before the upgrade */
void websockets_sweep(struct http_server *server);
void websockets_end_all(struct http_server *server);
