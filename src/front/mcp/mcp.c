/* front/mcp/mcp.c -- requests, from their first byte to their answer. */
#include "front/mcp/mcp.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"

const char *const mcp_revisions[MCP_REVISIONS] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25",
                                                  "2026-07-28"};
const char *const mcp_levels[] = {"debug",    "info",  "notice",    "warning", "error",
                                  "critical", "alert", "emergency", NULL};
const struct mcp_extension *mcp_extension;

#define META "io.modelcontextprotocol/"

int mcp_revision_find(const char *name)
{
        for (int i = 0; name && i < MCP_REVISIONS; i++)
                if (!strcmp(mcp_revisions[i], name))
                        return i;
        return -1;
}

/* Newest first. */
json_t *mcp_revision_list(void)
{
        json_t *list = json_array();
        for (int i = MCP_REVISIONS - 1; i >= 0; i--)
                json_array_append_new(list, json_string(mcp_revisions[i]));
        return list;
}

int mcp_level_find(const char *name)
{
        return name ? word_index(mcp_levels, name) : -1;
}

json_t *mcp_server_info(void)
{
        return json_pack("{s:s, s:s, s:s}", "name", "cella", "title", "Cella", "version", CELLA_VERSION);
}

bool mcp_is_modern(const struct mcp_request *request)
{
        return request->revision >= MCP_2026_07_28;
}

int mcp_revision_of(const struct rpc_message *message, const char **ret_unknown)
{
        const json_t *meta = json_object_get(message->params, "_meta");
        const char *name = rpc_text(meta, META "protocolVersion");
        int revision = mcp_revision_find(name);
        *ret_unknown = name && revision < 0 ? name : NULL;
        return revision;
}

/* ---- answers ---- */

static void mcp_end(struct mcp_request *request, int status, char *text, size_t len)
{
        list_remove(&request->link);
        list_remove(&request->sibling);
        list_remove(&request->listener);
        if (request->session) {
                request->session->n_requests--;
                session_touch(request->session);
        }
        request->sink->end(request, status, text, len);
        json_decref(request->document);
        free(request);
}

void mcp_reply_text(struct mcp_request *request, char *text, size_t len)
{
        if (!text)
                text = rpc_error(request->message.id, RPC_INTERNAL, "out of memory", NULL, &len);
        mcp_end(request, 200, text, len);
}

void mcp_reply(struct mcp_request *request, json_t *result)
{
        size_t len;
        if (mcp_is_modern(request) && result) {
                json_t *meta = json_object_get(result, "_meta");
                if (!meta) {
                        json_object_set_new(result, "_meta", json_object());
                        meta = json_object_get(result, "_meta");
                }
                json_object_set_new(meta, META "serverInfo", mcp_server_info());
                if (!json_object_get(result, "resultType"))
                        json_object_set_new(result, "resultType", json_string("complete"));
        }
        char *text = rpc_result(request->message.id, result, &len);
        mcp_reply_text(request, text, len);
}

/* The older revisions answer every request that reached a method with 200. */
static int status_of(const struct mcp_request *request, int code)
{
        if (!mcp_is_modern(request))
                return 200;
        if (code == RPC_METHOD_NOT_FOUND)
                return 404;
        return code == RPC_HEADER_MISMATCH || code == RPC_MISSING_CAPABILITY ||
                               code == RPC_UNSUPPORTED_VERSION
                       ? 400
                       : 200;
}

void mcp_refuse(struct mcp_request *request, int code, json_t *data, const char *format, ...)
{
        char message[400];
        va_list values;
        size_t len;
        va_start(values, format);
        vsnprintf(message, sizeof message, format, values);
        va_end(values);
        char *text = rpc_error(request->message.id, code, message, data, &len);
        mcp_end(request, status_of(request, code), text, len);
}

void mcp_refuse_err(struct mcp_request *request, const struct cella_err *err)
{
        const bool theirs = err->kind == CELLA_INVALID_REQUEST || err->kind == CELLA_NOT_FOUND ||
                            err->kind == CELLA_ACCESS_DENIED || err->kind == CELLA_TOO_LARGE;
        mcp_refuse(request, theirs ? RPC_INVALID_PARAMS : RPC_INTERNAL,
                   json_pack("{s:s, s:s}", "kind", cella_kind_name(err->kind), "hint", err->hint), "%s",
                   err->msg);
}

void mcp_notify(struct mcp_request *request, const char *method, json_t *params)
{
        size_t len;
        char *text = rpc_notification(method, params, &len);
        if (text)
                request->sink->send(request, text, len);
        free(text);
}

void mcp_log(struct mcp_request *request, const char *level, json_t *data)
{
        if (mcp_level_find(level) < request->level) {
                json_decref(data);
                return;
        }
        mcp_notify(request, "notifications/message",
                   json_pack("{s:s, s:s, s:o}", "level", level, "logger", "sandbox", "data", data));
}

void mcp_cacheable(const struct mcp_request *request, json_t *result, unsigned ttl_ms, const char *scope)
{
        if (!mcp_is_modern(request))
                return;
        json_object_set_new(result, "ttlMs", json_integer(ttl_ms));
        json_object_set_new(result, "cacheScope", json_string(scope));
}

void mcp_reply_list(struct mcp_request *request, json_t *result)
{
        if (json_object_get(request->message.params, "cursor")) {
                json_decref(result);
                mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "cursor must come from an earlier answer");
                return;
        }
        mcp_cacheable(request, result, 3600000, "public");
        mcp_reply(request, result);
}

void mcp_cancel(struct mcp_request *request)
{
        if (request->cancel)
                request->cancel(request);
        mcp_end(request, 0, NULL, 0);
}

void mcp_cancel_by_id(struct mcp_session *session, const json_t *id)
{
        list_each (at, &session->requests, other) {
                struct mcp_request *request = list_entry(at, struct mcp_request, link);
                if (json_equal(request->message.id, id)) {
                        mcp_cancel(request);
                        return;
                }
        }
}

void mcp_announce(struct mcp *mcp, const char *wanted, const char *method)
{
        list_each (at, &mcp->listeners, other) {
                struct mcp_request *request = list_entry(at, struct mcp_request, listener);
                const json_t *filter = json_object_get(request->message.params, "notifications");
                if (json_is_true(json_object_get(filter, wanted)))
                        mcp_notify(
                                request, method,
                                json_pack("{s:{s:O}}", "_meta", META "subscriptionId", request->message.id));
        }
}

/* ---- the table of methods ---- */

enum { OLDER = 1, MODERN = 2, BOTH = OLDER | MODERN };

static const struct {
        const char *name;
        unsigned eras;
        void (*handle)(struct mcp_request *request);
} methods[] = {
        {"initialize", OLDER, mcp_initialize},
        {"ping", OLDER, mcp_ping},
        {"logging/setLevel", OLDER, mcp_set_level},
        {"server/discover", MODERN, mcp_discover},
        {"subscriptions/listen", MODERN, mcp_listen},
        {"tools/list", BOTH, mcp_tools_list},
        {"tools/call", BOTH, mcp_tools_call},
        {"resources/list", BOTH, mcp_resources_list},
        {"resources/templates/list", BOTH, mcp_resources_templates},
        {"resources/read", BOTH, mcp_resources_read},
        {"prompts/list", BOTH, mcp_prompts_list},
        {"prompts/get", BOTH, mcp_prompts_get},
        {"completion/complete", BOTH, mcp_complete},
};

void mcp_dispatch(struct mcp_request *request)
{
        const unsigned era = mcp_is_modern(request) ? MODERN : OLDER;
        if (request->session && request->session->n_requests > MCP_REQUESTS_MAX) {
                mcp_refuse(request, RPC_INTERNAL, NULL, "more than %d requests at once", MCP_REQUESTS_MAX);
                return;
        }
        if (mcp_extension && mcp_extension->handle(request))
                return;
        for (size_t i = 0; i < ARRAY_LEN(methods); i++)
                if ((methods[i].eras & era) && !strcmp(methods[i].name, request->message.method)) {
                        methods[i].handle(request);
                        return;
                }
        mcp_refuse(request, RPC_METHOD_NOT_FOUND, NULL, "method not found: %.100s", request->message.method);
}

static void read_meta(struct mcp_request *request)
{
        request->meta = json_object_get(request->message.params, "_meta");
        request->level = mcp_is_modern(request) ? mcp_level_find(rpc_text(request->meta, META "logLevel"))
                         : request->session     ? request->session->level
                                                : MCP_LEVEL_NONE;
        if (request->level < 0)
                request->level = MCP_LEVEL_NONE;
}

struct mcp_request *mcp_request_new(const struct mcp_origin *origin, json_t *document,
                                    const struct rpc_message *message)
{
        struct mcp_session *session = origin->session;
        struct mcp_request *request = calloc(1, sizeof *request);
        if (!request) {
                json_decref(document);
                return NULL;
        }
        *request = (struct mcp_request){.mcp = origin->mcp,
                                        .session = session,
                                        .caller = *origin->caller,
                                        .revision = origin->revision,
                                        .document = document,
                                        .message = *message,
                                        .sink = origin->sink,
                                        .transport = origin->transport};
        list_init(&request->link);
        list_init(&request->sibling);
        list_init(&request->listener);
        read_meta(request);
        if (session) {
                session->n_requests++;
                list_add(&session->requests, &request->link);
                session_touch(session);
        }
        return request;
}

/* ---- start and end of the module ---- */

int mcp_new(struct api *api, struct mcp **ret, struct cella_err *err)
{
        struct mcp *mcp = calloc(1, sizeof *mcp);
        if (!mcp)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "mcp");
        mcp->api = api;
        mcp->core = api->core;
        list_init(&mcp->sessions);
        list_init(&mcp->exchanges);
        list_init(&mcp->listeners);
        uv_timer_init(api->core->loop, &mcp->tick);
        mcp->tick.data = mcp;
        *ret = mcp;
        return 0;
}

void mcp_heartbeat(struct mcp *mcp)
{
        sessions_expire(mcp);
}

struct mcp *mcp_free(struct mcp *mcp)
{
        if (!mcp)
                return NULL;
        mcp->ending = true;
        mcp_stdio_free(mcp->stdio);
        while (!list_empty(&mcp->sessions))
                session_end(list_entry(mcp->sessions.next, struct mcp_session, link));
        uv_timer_stop(&mcp->tick);
        json_decref(mcp->tools);
        free(mcp);
        return NULL;
}
