/* front/api.h -- shared by all handlers of the HTTP API: the request, its answer, the server's state.
 *
 * A handler gets a request that is authorised and has a valid body.  It answers now or later. */
#pragma once
#include <jansson.h>
#include <stdatomic.h>

#include "base/list.h"
#include "core/core.h"
#include "http/http.h"
#include "schema/schema.h"

struct api;
struct call;
struct mcp;
struct events;
struct answer;

enum {
        API_OPEN = 1u << 0,   /* no key needed: health */
        API_STREAM = 1u << 1, /* the body arrives in parts, see http_body_read() */
        API_RAW = 1u << 2,    /* the body is bytes, not JSON */
        API_RUNS = 1u << 3,   /* runs code: a refused request is logged */
};

/* Errors of a route, see openapi.c. */
enum {
        API_ERR_CHANGED = 1u << 0, /* 412: If-Match */
        API_ERR_RANGE = 1u << 1,   /* 416 */
        API_ERR_TIMEOUT = 1u << 2, /* 504 */
        API_ERR_METHOD = 1u << 3,  /* 405 */
};

struct api_route {
        enum http_method method;
        const char *pattern;
        unsigned may; /* enum capability; 0: any key */
        unsigned flags;
        size_t body_max; /* 0: API_BODY_MAX */
        const struct field *(*fields)(void);
        /* body: checked by fields, the handler's own reference; NULL if the route has none. */
        void (*handle)(struct call *call, json_t *body);
        /* For OpenAPI: */
        const char *id, *tag, *summary; /* id: also in the names of functions of generated clients */
        const struct field *query;      /* NULL: none */
        const struct answer *answers;   /* those that are no errors */
        unsigned errors;                /* API_ERR_*: besides those that its other fields imply */
};

#define API_BODY_MAX (24u * 1024 * 1024)

/* One request, from its headers to its end. */
struct call {
        struct api *api;
        struct core *core;
        struct http_request *request;
        struct caller caller;
        int64_t begun_us;
        bool logged; /* the refusal of this request is in the log, or will be */
        void *data;  /* private to the handler */
};

typedef void (*api_log)(const char *level, const char *message, const char *detail_name, const char *detail);

struct api {
        struct core *core;
        struct http_server *http;
        uid_t owner;      /* besides root */
        bool has_socket;  /* a Unix socket, on which the owner needs no key */
        char listen[128]; /* the address as given, to check Host */
        api_log log;
        struct list streams;   /* struct sse */
        struct list terminals; /* rest/terminal.c */
        uv_timer_t guard;      /* checks the keys of streams and terminals, while there are any */
        uv_timer_cb on_guard;
        uv_timer_t heartbeat;
        json_t *openapi;
        struct mcp *mcp;
        struct events *events; /* NULL: no client has watched events yet */
        struct http_route *http_routes;
        struct audit_reader *reader; /* used on the thread pool, one job at a time */
        uv_mutex_t reader_lock;
        struct list log_jobs; /* waiting struct log_job */
        bool log_busy;        /* a job is on the pool */
        unsigned queries;     /* active jobs of the thread pool */
        atomic_bool ending;   /* jobs that have not begun are dropped */
};

/* ---- answers ---- */
void api_reply(struct call *call, int status, json_t *body);                /* takes body */
void api_reply_text(struct call *call, int status, char *text, size_t len); /* takes text: JSON */
void api_reply_nothing(struct call *call);                                  /* 204 */
/* Records that this request was refused.  api_reply_err() does it for requests that were not recorded
 * before.  request: NULL if there is none. */
struct exec_request;
void api_record_refusal(struct call *call, const struct exec_request *request, const struct cella_err *err);
void api_reply_err(struct call *call, const struct cella_err *err);
/* The same for a request that the log already has. */
void api_reply_refusal(struct call *call, const struct cella_err *err);
json_t *api_error(struct call *call, const struct cella_err *err); /* the object, for a stream */
int api_status(enum cella_kind kind);

/* Returns the sandbox in the path; if there is none, answers 404 and returns NULL. */
struct core_sandbox *api_sandbox(struct call *call);

/* Registers a stream or terminal: it is closed when its key is removed. */
void api_guard(struct api *api);

/* Read query parameters.  -EINVAL: the request was answered with an error. */
bool api_flag(const struct call *call, const char *name);
int api_number(struct call *call, const char *name, uint64_t min, uint64_t max, uint64_t standard,
               uint64_t *ret);
bool api_wants_events(const struct call *call);
