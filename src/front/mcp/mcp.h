/* front/mcp/mcp.h -- the Model Context Protocol, over any transport.
 *
 * http.c      POST, GET, DELETE /mcp: one message each, headers, sessions
 * exchange.c  the answer to a POST: one JSON object, or a stream that can be resumed
 * stdio.c     lines on a socket (cella mcp)
 * mcp.c       requests from their first byte to their answer; the table of methods
 * methods.c, call.c, resources.c, prompts.c   the methods
 *
 * Two eras of the protocol are supported.  In the older revisions a client begins with "initialize" and has a
 * session.  From 2026-07-28 on each request is complete and the server keeps no state.  Each request says
 * which era it belongs to ("modern" below).
 *
 * Invariants: everything that is stored for a client has a maximum (sessions, concurrent requests, events for
 * clients that resume).  A request is answered once or, if it was cancelled, not at all. */
#pragma once
#include "front/api.h"
#include "front/mcp/rpc.h"

#define MCP_SESSIONS_MAX 1024
#define MCP_SESSIONS_OF_KEY_MAX 256
#define MCP_SESSION_IDLE_US (INT64_C(1800) * 1000000)
#define MCP_REQUESTS_MAX 64 /* concurrent requests of one session */
#define MCP_BATCH_MAX 32
#define MCP_MESSAGE_MAX API_BODY_MAX

enum mcp_revision {
        MCP_2024_11_05,
        MCP_2025_03_26, /* the only one with batches */
        MCP_2025_06_18,
        MCP_2025_11_25,
        MCP_2026_07_28,
        MCP_REVISIONS
};
extern const char *const mcp_revisions[MCP_REVISIONS];
int mcp_revision_find(const char *name); /* -1: unknown */
json_t *mcp_revision_list(void);

extern const char *const mcp_levels[]; /* of log messages, lowest first; NULL at the end */
#define MCP_LEVEL_NONE 8               /* no message is sent */
int mcp_level_find(const char *name);

struct mcp {
        struct api *api;
        struct core *core;
        struct list sessions, exchanges;
        unsigned n_sessions;
        struct list listeners; /* struct mcp_request of subscriptions/listen */
        size_t kept_bytes;     /* of events kept for clients that resume */
        uv_timer_t tick;
        json_t *tools; /* the list of tools, created once */
        struct mcp_stdio *stdio;
        bool ending; /* the daemon stops */
};

/* A client of the older revisions, or the one client of stdio. */
struct mcp_session {
        struct list link;
        struct mcp *mcp;
        char id[ID_SIZE], key[ID_SIZE];
        enum mcp_revision revision;
        int level;
        json_t *client; /* its capabilities; NULL: none */
        char name[129]; /* of the session whose sandbox its calls use if the scope is "session" */
        char agent[64]; /* the name of its client; "": unknown */
        struct list requests;
        unsigned n_requests, n_exchanges;
        int64_t used_us;
};

struct mcp_request;

/* Sends the messages of a request. */
struct mcp_sink {
        /* Sends a message before the answer.  It is dropped if the client cannot receive it. */
        void (*send)(struct mcp_request *request, const char *text, size_t len);
        size_t (*room)(const struct mcp_request *request); /* bytes that can be sent without waiting */
        /* Sends the answer, which it takes ownership of; NULL: there is none.  Frees the request. */
        void (*end)(struct mcp_request *request, int status, char *text, size_t len);
};

struct mcp_request {
        struct list link;     /* in its session's list */
        struct list sibling;  /* in the list of its transport */
        struct list listener; /* in mcp.listeners */
        struct mcp *mcp;
        struct mcp_session *session; /* NULL: it has none */
        struct caller caller;
        enum mcp_revision revision;
        json_t *document;
        struct rpc_message message;
        const json_t *meta; /* NULL: none */
        int level;          /* minimum level of log messages to send */
        const struct mcp_sink *sink;
        void *transport;
        void *data; /* private to the handler: */
        void (*cancel)(struct mcp_request *request);
};

/* ---- mcp.c ---- */
int mcp_new(struct api *api, struct mcp **ret, struct cella_err *err);
struct mcp *mcp_free(struct mcp *mcp);
void mcp_heartbeat(struct mcp *mcp); /* every 15 s */

struct mcp_origin {
        struct mcp *mcp;
        struct mcp_session *session;
        const struct caller *caller;
        enum mcp_revision revision;
        const struct mcp_sink *sink;
        void *transport;
};
/* Creates a request.  Takes ownership of the document, also on failure.  NULL: no memory. */
struct mcp_request *mcp_request_new(const struct mcp_origin *origin, json_t *document,
                                    const struct rpc_message *message);
/* Starts the request.  It may be answered before this returns. */
void mcp_dispatch(struct mcp_request *request);
/* Ends a request without an answer. */
void mcp_cancel(struct mcp_request *request);
/* Handles "notifications/cancelled" for a request of the session. */
void mcp_cancel_by_id(struct mcp_session *session, const json_t *id);
bool mcp_is_modern(const struct mcp_request *request);
/* Returns the revision that a request names; -1: none.  An unknown name is stored in *ret_unknown. */
int mcp_revision_of(const struct rpc_message *message, const char **ret_unknown);

/* Functions with which a handler answers; each ends the request. */
/* takes ownership of result; adds the members that every result has */
void mcp_reply(struct mcp_request *request, json_t *result);
/* The same for a list that never changes and fits on one page. */
void mcp_reply_list(struct mcp_request *request, json_t *result);
void mcp_reply_text(struct mcp_request *request, char *text, size_t len);
void mcp_refuse(struct mcp_request *request, int code, json_t *data, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
void mcp_refuse_err(struct mcp_request *request, const struct cella_err *err);
/* Messages before the answer: */
/* takes ownership of params */
void mcp_notify(struct mcp_request *request, const char *method, json_t *params);
void mcp_log(struct mcp_request *request, const char *level, json_t *data); /* takes ownership of data */
/* Marks a result that the client may cache for a while. */
void mcp_cacheable(const struct mcp_request *request, json_t *result, unsigned ttl_ms, const char *scope);
json_t *mcp_server_info(void);
/* Announces that a list has changed: "toolsListChanged" is sent to the requests that listen for it. */
void mcp_announce(struct mcp *mcp, const char *wanted, const char *method);

/* ---- session.c ---- */
int session_new(struct mcp *mcp, const struct caller *caller, struct mcp_session **ret,
                struct cella_err *err);
void session_init(struct mcp_session *session, struct mcp *mcp);
struct mcp_session *session_find(struct mcp *mcp, const struct caller *caller, const char *id);
void session_end(struct mcp_session *session); /* and all its requests */
void session_touch(struct mcp_session *session);
void sessions_expire(struct mcp *mcp);

/* ---- the methods ---- */
void mcp_initialize(struct mcp_request *request);
void mcp_ping(struct mcp_request *request);
void mcp_discover(struct mcp_request *request);
void mcp_set_level(struct mcp_request *request);
void mcp_listen(struct mcp_request *request);
void mcp_tools_list(struct mcp_request *request);
void mcp_tools_call(struct mcp_request *request);
void mcp_resources_list(struct mcp_request *request);
void mcp_resources_templates(struct mcp_request *request);
void mcp_resources_read(struct mcp_request *request);
void mcp_prompts_list(struct mcp_request *request);
void mcp_prompts_get(struct mcp_request *request);
void mcp_complete(struct mcp_request *request);

/* ---- exchange.c ---- */
struct exchange;
extern const struct mcp_sink exchange_sink;
/* Creates the exchange of a POST that is answered with one message, or with one message for each part of a
 * batch. */
struct exchange *exchange_new(struct mcp *mcp, struct call *call, struct mcp_session *session,
                              unsigned batch);
/* Starts a request of the exchange; NULL: the request could not be created. */
void exchange_run(struct exchange *exchange, struct mcp_request *request);
/* Answers a part of a batch that is not a request; takes ownership of text.  NULL: it needs no answer. */
void exchange_answer(struct exchange *exchange, char *text, size_t len);
/* GET with Last-Event-ID: continues the stream that it names.  -ENOENT: there is none. */
int exchange_resume(struct mcp_session *session, struct call *call, const char *last);
/* Closes the connection; the client may resume. */
void exchange_hang_up(struct mcp_request *request);
void exchanges_forget(struct mcp_session *session); /* the session ends: its streams cannot be resumed */

/* ---- http.c ---- */
void mcp_http_post(struct call *call, json_t *body);
void mcp_http_get(struct call *call, json_t *body);
void mcp_http_delete(struct call *call, json_t *body);
/* Returns whether a header, which may be base64 between "=?base64?" and "?=", equals the value in the
 * body. */
bool mcp_header_says(const char *header, const char *value, size_t len);
/* NULL also without HTTP */
const char *mcp_request_header(const struct mcp_request *request, const char *name);

/* ---- stdio.c ---- */
/* session, agent: names for calls that give none.  NULL: the connection, the name of the client. */
int mcp_stdio_start(struct mcp *mcp, int fd, const char *session, const char *agent, struct cella_err *err);
void mcp_stdio_free(struct mcp_stdio *stdio);

/* Features that the official conformance suite requires of a server and that this server does not have.  The
 * tests link them in. */
struct mcp_extension {
        void (*capabilities)(json_t *capabilities, bool modern);
        bool (*handle)(struct mcp_request *request); /* returns whether it handled the request */
        void (*respond)(struct mcp_session *session, const json_t *response);
};
extern const struct mcp_extension *mcp_extension; /* NULL in the product */
