#include "front/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "front/auth.h"
#include "front/mcp/mcp.h"
#include "front/rest/rest.h"
#include "front/routes.h"
#include "front/sse.h"

#define HEARTBEAT_MS 15000
#define CONNECTIONS_MAX 16384
#define IDLE_TIMEOUT_S 75
#define QUERIES_US 11000000 /* maximum time to wait for queries of the log at the end */

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
        *call = (struct call){.api = api, .core = api->core, .request = request, .begun_us = clock_us()};
        http_set_context(request, call);
        /* A browser must not run or embed the content of files of a sandbox. */
        http_add_header(request, "X-Content-Type-Options", "nosniff");
        http_add_header(request, "Cross-Origin-Resource-Policy", "same-origin");
        const struct api_route *route = http_about(request);
        int r = auth_check(api, request, route && (route->flags & API_OPEN), &call->caller, &err);
        caller_set_trace(&call->caller, http_header(request, "traceparent"));
        if (r == 0 && route && route->may)
                r = caller_may(&call->caller, (enum capability)route->may, &err);
        if (r < 0) {
                api->core->metrics.refused_auth++;
                char client[AUTH_CLIENT_SIZE];
                auth_client(api, request, client);
                api->log("warning", err.msg, "peer", client);
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
        if (api->core->stopping && !(route->flags & API_OPEN)) {
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
        struct call *call = http_context(request),
                    spare = {.api = api, .core = api->core, .request = request};
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
                api->core->metrics.requests[status / 100]++;
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
        api->core = options->core;
        api->owner = options->owner;
        api->log = options->log;
        api->has_socket = options->has_socket;
        snprintf(api->listen, sizeof api->listen, "%s", options->listen);
        list_init(&api->streams);
        list_init(&api->terminals);
        api->guard.data = api;
        api->on_guard = on_guard;
        uv_timer_init(options->core->loop, &api->guard);
        list_init(&api->log_jobs);
        uv_mutex_init(&api->reader_lock);
        int r = audit_reader_open(options->core->directory, &api->reader, err);
        if (r < 0)
                return r;
        const struct http_options http = {
                .loop = options->core->loop,
                .listeners = options->listeners,
                .n_listeners = options->n_listeners,
                .tls = options->tls,
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
        if (options->stdio >= 0 &&
            (r = mcp_stdio_start(api->mcp, options->stdio, options->session, options->agent, err)) < 0)
                return r;
        api->heartbeat.data = api;
        uv_timer_init(options->core->loop, &api->heartbeat);
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
                uv_run(api->core->loop, UV_RUN_ONCE); /* a timer of core/ wakes it */
        if (api->queries > 0)
                return NULL; /* another thread still uses it; the process ends soon */
        events_free(api->events);
        audit_reader_close(api->reader);
        json_decref(api->openapi);
        free(api->http_routes);
        free(api);
        return NULL;
}
