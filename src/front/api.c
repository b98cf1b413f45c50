#include "front/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/parse.h"
#include "core/sandbox/queue.h"
#include "core/sandbox/sandbox.h"
#include "front/auth.h"
#include "front/mcp/mcp.h"
#include "front/rest/rest.h"
#include "front/sse.h"

#define HEARTBEAT_MS 15000
#define GUARD_MS 1000
#define CONNECTIONS_MAX 16384
#define IDLE_TIMEOUT_S 75
#define QUERIES_US 11000000 /* a query that takes longer is not waited for; audit_flush() never does */

int api_status(enum cella_kind kind)
{
        static const int codes[] = {
                [CELLA_OK] = 200,
                [CELLA_INVALID_REQUEST] = 400,
                [CELLA_UNAUTHORIZED] = 401,
                [CELLA_ACCESS_DENIED] = 403,
                [CELLA_NOT_FOUND] = 404,
                [CELLA_TOO_LARGE] = 413,
                [CELLA_RUNTIME_NOT_FOUND] = 422,
                [CELLA_SCAN_REFUSED] = 422,
                [CELLA_OVER_CAPACITY] = 429,
                [CELLA_INTERNAL] = 500,
                [CELLA_ENGINE_UNAVAILABLE] = 503,
                [CELLA_ISOLATION_UNAVAILABLE] = 503,
        };
        return (size_t)kind < sizeof codes / sizeof *codes ? codes[kind] : 500;
}

/* The time is what the daemon took, without the network and the client: browsers show it, and our page. */
void api_reply_text(struct call *call, int status, char *text, size_t len)
{
        char took[48];
        if (call->begun_us) {
                snprintf(took, sizeof took, "daemon;dur=%.3f", (double)(clock_us() - call->begun_us) / 1000);
                http_add_header(call->request, "Server-Timing", took);
        }
        http_reply_take(call->request, status, "application/json", text, len);
}

void api_reply(struct call *call, int status, json_t *body)
{
        char *text = json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(12));
        json_decref(body);
        if (text)
                api_reply_text(call, status, text, strlen(text));
        else
                http_reply(call->request, 500, "application/json", "{\"error\":{\"kind\":\"internal\"}}", 30);
}

void api_reply_nothing(struct call *call)
{
        http_reply(call->request, 204, NULL, NULL, 0);
}

/* What is our own fault gets a name that the log has too. */
json_t *api_error(struct call *call, const struct cella_err *err)
{
        char message[320];
        if (err->kind != CELLA_INTERNAL)
                return json_pack("{s:{s:s, s:s, s:s}}", "error", "kind", cella_kind_name(err->kind),
                                 "message", err->msg, "hint", err->hint);
        char id[ID_SIZE] = "err_";
        id_make("err_", id);
        snprintf(message, sizeof message, "%s (%s)", err->msg, id);
        call->api->log("error", message, "path", http_path(call->request));
        return json_pack("{s:{s:s, s:s, s:s}}", "error", "kind", "internal", "message", message, "hint",
                         err->hint);
}

void api_record_refusal(struct call *call, const struct exec_request *request, const struct cella_err *err)
{
        const struct api_route *route = http_about(call->request);
        if (call->logged || !route || !(route->flags & API_RUNS))
                return;
        call->logged = true;
        refusal_record(call->box, &call->caller, request, err);
}

void api_reply_err(struct call *call, const struct cella_err *err)
{
        int status = api_status(err->kind);
        char seconds[16];
        api_record_refusal(call, NULL, err);
        if (status == 429) {
                snprintf(seconds, sizeof seconds, "%u", queue_retry_after_s(call->box));
                http_add_header(call->request, "Retry-After", seconds);
        }
        if (status == 401)
                http_add_header(call->request, "WWW-Authenticate", "Bearer");
        json_t *body = api_error(call, err);
        if (body)
                api_reply(call, status, body);
        else /* words that are no UTF-8 cannot come from us, but let us not fail over them */
                http_reply(call->request, status, "application/json", "{\"error\":{}}", 12);
}

void api_reply_refusal(struct call *call, const struct cella_err *err)
{
        call->logged = true;
        api_reply_err(call, err);
}

struct box_sandbox *api_sandbox(struct call *call)
{
        struct cella_err err = {0};
        struct box_sandbox *sb = sandbox_find(call->box, &call->caller, http_param(call->request, 0));
        if (sb)
                return sb;
        err_say(&err, CELLA_NOT_FOUND, -ENOENT, "no sandbox '%.40s'", http_param(call->request, 0));
        api_reply_err(call, &err);
        return NULL;
}

bool api_flag(const struct call *call, const char *name)
{
        const char *value = http_query(call->request, name);
        return value && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0;
}

int api_number(struct call *call, const char *name, uint64_t min, uint64_t max, uint64_t standard,
               uint64_t *ret)
{
        const char *text = http_query(call->request, name);
        struct cella_err err = {0};
        *ret = standard;
        if (!text)
                return 0;
        if (parse_count(text, ret) == 0 && *ret >= min && *ret <= max)
                return 0;
        err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "%s must be a whole number from %llu to %llu", name,
                (unsigned long long)min, (unsigned long long)max);
        api_reply_err(call, &err);
        return -EINVAL;
}

bool api_wants_events(const struct call *call)
{
        const char *accept = http_header(call->request, "Accept");
        return accept && strstr(accept, "text/event-stream");
}

/* ---- requests ---- */

static void on_headers(struct http_request *request, void *userdata)
{
        struct api *api = userdata;
        struct call *call = calloc(1, sizeof *call);
        struct cella_err err = {0};
        if (!call) {
                http_reply(request, 500, "application/json", "{\"error\":{\"kind\":\"internal\"}}", 30);
                return;
        }
        *call = (struct call){.api = api, .box = api->box, .request = request, .begun_us = clock_us()};
        http_set_context(request, call);
        /* What a sandbox's file holds is nobody's script, and no other site's to load. */
        http_add_header(request, "X-Content-Type-Options", "nosniff");
        http_add_header(request, "Cross-Origin-Resource-Policy", "same-origin");
        const struct api_route *route = http_about(request);
        int r = auth_check(api, request, route && (route->flags & API_OPEN), &call->caller, &err);
        if (r == 0 && route && route->may)
                r = caller_may(&call->caller, (enum capability)route->may, &err);
        if (r < 0) {
                api->box->metrics.refused_auth++;
                api->log("warning", err.msg, "peer", http_peer(request)->address);
                api_reply_err(call, &err);
        }
}

static void on_request(struct http_request *request, void *userdata)
{
        struct api *api = userdata;
        struct call *call = http_context(request);
        const struct api_route *route = http_about(request);
        struct cella_err err = {0};
        json_t *body = NULL;
        size_t len;
        const char *text;
        if (api->box->stopping && !(route->flags & API_OPEN)) {
                err_say(&err, CELLA_ENGINE_UNAVAILABLE, -ESHUTDOWN, "the daemon is shutting down");
                api_reply_err(call, &err);
                return;
        }
        if (route->fields) {
                text = http_body(request, &len);
                if (schema_parse(route->fields(), text, len, &body, &err) < 0) {
                        api_reply_err(call, &err);
                        return;
                }
        }
        route->handle(call, body);
}

static void on_error(struct http_request *request, int status, const char *why, void *userdata)
{
        struct api *api = userdata;
        struct call *call = http_context(request), spare = {.api = api, .box = api->box, .request = request};
        struct cella_err err = {0};
        enum cella_kind kind = status == 404                    ? CELLA_NOT_FOUND
                               : status == 413                  ? CELLA_TOO_LARGE
                               : status == 429 || status == 503 ? CELLA_OVER_CAPACITY
                               : status >= 500                  ? CELLA_INTERNAL
                                                                : CELLA_INVALID_REQUEST;
        err_say(&err, kind, -EINVAL, "%s", why);
        if (call)
                api_record_refusal(call, NULL, &err);
        api_reply(call ? call : &spare, status, api_error(call ? call : &spare, &err));
}

static void on_done(struct http_request *request, int status, uint64_t duration_us, void *userdata)
{
        struct api *api = userdata;
        struct call *call = http_context(request);
        (void)duration_us;
        if (status >= 100 && status < 600)
                api->box->metrics.requests[status / 100]++;
        free(call);
}

static void on_heartbeat(uv_timer_t *timer)
{
        struct api *api = timer->data;
        sse_heartbeat(api);
        mcp_heartbeat(api->mcp);
}

static void on_guard(uv_timer_t *timer)
{
        struct api *api = timer->data;
        bool streams = sse_guard_all(api), terminals = rest_terminals_guard(api);
        if (!streams && !terminals)
                uv_timer_stop(timer);
}

void api_guard(struct api *api)
{
        if (!uv_is_active((uv_handle_t *)&api->guard))
                uv_timer_start(&api->guard, on_guard, GUARD_MS, GUARD_MS);
}

static int make_routes(struct api *api)
{
        api->http_routes = calloc(api_routes_len, sizeof *api->http_routes);
        for (size_t i = 0; api->http_routes && i < api_routes_len; i++) {
                const struct api_route *r = &api_routes[i];
                api->http_routes[i] = (struct http_route){
                        .method = r->method,
                        .pattern = r->pattern,
                        .body_max = r->body_max ? r->body_max
                                    : r->fields ? API_BODY_MAX
                                                : 0,
                        .body_streams = r->flags & API_STREAM,
                        .about = r,
                };
        }
        return api->http_routes ? 0 : -ENOMEM;
}

int api_new(const struct api_options *options, struct api **ret, struct cella_err *err)
{
        struct api *api = calloc(1, sizeof *api);
        if (!api || make_routes(api) < 0)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "api");
        api->box = options->box;
        api->owner = options->owner;
        api->log = options->log;
        snprintf(api->listen, sizeof api->listen, "%s", options->listen);
        list_init(&api->streams);
        list_init(&api->terminals);
        api->guard.data = api;
        uv_timer_init(options->box->loop, &api->guard);
        list_init(&api->log_jobs);
        uv_mutex_init(&api->reader_lock);
        int r = audit_reader_open(options->box->directory, &api->reader, err);
        if (r < 0)
                return r;
        const struct http_options http = {
                .loop = options->box->loop,
                .listeners = options->listeners,
                .n_listeners = options->n_listeners,
                .routes = api->http_routes,
                .n_routes = api_routes_len,
                .connections_max = CONNECTIONS_MAX,
                .idle_timeout_s = IDLE_TIMEOUT_S,
                .on_headers = on_headers,
                .on_request = on_request,
                .on_error = on_error,
                .on_done = on_done,
                .userdata = api,
        };
        if ((r = mcp_new(api, &api->mcp, err)) < 0 || (r = http_server_new(&http, &api->http, err)) < 0)
                return r;
        if (options->stdio >= 0 && (r = mcp_stdio_start(api->mcp, options->stdio, err)) < 0)
                return r;
        api->heartbeat.data = api;
        uv_timer_init(options->box->loop, &api->heartbeat);
        uv_timer_start(&api->heartbeat, on_heartbeat, HEARTBEAT_MS, HEARTBEAT_MS);
        *ret = api;
        return 0;
}

void api_quiesce(struct api *api)
{
        http_server_quiesce(api->http);
}

struct api *api_free(struct api *api)
{
        if (!api)
                return NULL;
        int64_t until = clock_us() + QUERIES_US;
        atomic_store(&api->ending, true);
        http_server_free(api->http);
        api->mcp = mcp_free(api->mcp);
        uv_timer_stop(&api->heartbeat);
        uv_timer_stop(&api->guard);
        while (api->queries > 0 && clock_us() < until)
                uv_run(api->box->loop, UV_RUN_ONCE); /* the box's timer wakes it */
        if (api->queries > 0)
                return NULL; /* another thread uses it, and the process ends */
        events_free(api->events);
        audit_reader_close(api->reader);
        json_decref(api->openapi);
        free(api->http_routes);
        free(api);
        return NULL;
}
