#include "front/api.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/parse.h"
#include "core/record.h"
#include "core/sandbox/queue.h"
#include "core/sandbox/sandbox.h"

#define GUARD_MS 1000

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

/* The time that the daemon took, without network and client.  Browsers and our web page show it. */
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

/* An internal error gets an id that is also in the log. */
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
        refusal_record(call->core, &call->caller, request, err);
}

void api_reply_err(struct call *call, const struct cella_err *err)
{
        int status = api_status(err->kind);
        char seconds[16];
        api_record_refusal(call, NULL, err);
        if (status == 429) {
                snprintf(seconds, sizeof seconds, "%u", queue_retry_after_s(call->core));
                http_add_header(call->request, "Retry-After", seconds);
        }
        if (status == 401)
                http_add_header(call->request, "WWW-Authenticate", "Bearer");
        json_t *body = api_error(call, err);
        if (body)
                api_reply(call, status, body);
        else /* the text is not UTF-8, which should not happen */
                http_reply(call->request, status, "application/json", "{\"error\":{}}", 12);
}

void api_reply_refusal(struct call *call, const struct cella_err *err)
{
        call->logged = true;
        api_reply_err(call, err);
}

struct core_sandbox *api_sandbox(struct call *call)
{
        struct cella_err err = {0};
        struct core_sandbox *sb = sandbox_find(call->core, &call->caller, http_param(call->request, 0));
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

void api_guard(struct api *api)
{
        if (!uv_is_active((uv_handle_t *)&api->guard))
                uv_timer_start(&api->guard, api->on_guard, GUARD_MS, GUARD_MS);
}
