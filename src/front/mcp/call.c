/* front/mcp/call.c -- tools/call: output as progress, results with pictures, errors that a model can read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/utf8.h"
#include "front/mcp/mcp.h"
#include "front/tools/tools.h"

#define META "io.modelcontextprotocol/"
#define MESSAGE_MAX 2048 /* bytes of output in one notification; the result has all of it */
#define ROOM_MIN 65536   /* with less room, progress is dropped: it must not delay the answer */

struct calling {
        struct mcp_request *request;
        struct tool_call *tool;
        const json_t *token; /* NULL: the client wants no progress */
        uint64_t bytes;      /* bytes so far; it must grow with each notification */
};

/* ---- while it runs ---- */

/* The end of the text, if it is too long; whole characters; without the last line break. */
static json_t *message_of(const char *data, size_t len)
{
        char *text = NULL;
        size_t text_len = 0;
        while (len > 0 && data[len - 1] == '\n')
                len--;
        if (len > MESSAGE_MAX) {
                data += len - MESSAGE_MAX;
                len = MESSAGE_MAX;
                while (len > 0 && ((unsigned char)*data & 0xc0) == 0x80) {
                        data++;
                        len--;
                }
        }
        json_t *message = json_stringn(data, len);
        if (message)
                return message;
        /* Not UTF-8: our own writer makes it so. */
        struct json j = {.out = open_memstream(&text, &text_len)};
        if (!j.out)
                return NULL;
        json_put_bytes(&j, NULL, data, len);
        fclose(j.out);
        message = json_loadb(text, text_len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        free(text);
        return message;
}

static void mcp_call_on_output(void *context, enum cella_stream stream, const char *data, size_t len)
{
        struct calling *c = context;
        (void)stream;
        c->bytes += len;
        if (c->request->sink->room(c->request) < ROOM_MIN)
                return;
        json_t *message = message_of(data, len);
        if (message)
                mcp_notify(c->request, "notifications/progress",
                           json_pack("{s:O, s:I, s:o}", "progressToken", c->token, "progress",
                                     (json_int_t)c->bytes, "message", message));
}

static void mcp_call_on_violation(void *context, const struct violation *violation)
{
        struct calling *c = context;
        mcp_log(c->request, "warning", violation_to_json(violation));
}

/* ---- its end ---- */

static void mcp_call_put_text(struct json *j, const char *text, size_t len)
{
        json_put_open(j, NULL, '{');
        json_put_string(j, "type", "text");
        json_put_bytes(j, "text", text, len);
        json_put_close(j, '}');
}

static void put_images(struct json *j, const struct tool_result *result)
{
        for (unsigned i = 0; i < result->n_images; i++) {
                json_put_open(j, NULL, '{');
                json_put_string(j, "type", "image");
                json_put_string(j, "mimeType", result->images[i].mime);
                json_put_string(j, "data", result->images[i].data);
                json_put_close(j, '}');
        }
}

static void put_error(struct json *j, const struct cella_err *err)
{
        mcp_call_put_text(j, err->msg, strlen(err->msg));
        if (err->hint[0])
                mcp_call_put_text(j, err->hint, strlen(err->hint));
}

/* The fields of a result that are no text, and those that the newer revisions require. */
static void put_meta(struct json *j, const struct mcp_request *request, const struct tool_result *result)
{
        if (!mcp_is_modern(request) && !result->err.kind)
                return;
        json_put_open(j, "_meta", '{');
        if (result->err.kind) {
                json_put_open(j, "cella/error", '{');
                json_put_string(j, "kind", tool_result_kind(result));
                json_put_string(j, "message", result->err.msg);
                json_put_string(j, "hint", result->err.hint);
                json_put_close(j, '}');
        }
        if (mcp_is_modern(request)) {
                json_put_open(j, META "serverInfo", '{');
                json_put_string(j, "name", "cella");
                json_put_string(j, "version", CELLA_VERSION);
                json_put_close(j, '}');
        }
        json_put_close(j, '}');
}

static void put_result(struct json *j, const struct mcp_request *request, const struct tool_result *result)
{
        const bool failed = result->err.kind != CELLA_OK;
        json_put_open(j, "result", '{');
        if (mcp_is_modern(request))
                json_put_string(j, "resultType", "complete");
        json_put_open(j, "content", '[');
        if (failed)
                put_error(j, &result->err);
        if (!failed || result->json)
                mcp_call_put_text(j, result->text ? result->text : result->json,
                                  result->text ? result->text_len : result->len);
        put_images(j, result);
        json_put_close(j, ']');
        if (result->json)
                json_put_raw(j, "structuredContent", result->json, result->len);
        json_put_bool(j, "isError", failed);
        put_meta(j, request, result);
        json_put_close(j, '}');
}

static void mcp_call_on_end(void *context, const struct tool_result *result)
{
        struct calling *c = context;
        struct mcp_request *request = c->request;
        struct json_text text = {0};
        char *id = rpc_id_text(request->message.id);
        /* JSON inside a JSON string: each escaped character gets one more backslash. */
        struct json j = {.out = id ? json_text_open(&text, 1024 + result->len + result->text_len / 4 * 5)
                                   : NULL};
        if (j.out) {
                json_put_open(&j, NULL, '{');
                json_put_string(&j, "jsonrpc", "2.0");
                json_put_raw(&j, "id", id, strlen(id));
                put_result(&j, request, result);
                json_put_close(&j, '}');
                fclose(j.out);
        }
        free(id);
        free(c);
        request->cancel = NULL;
        mcp_reply_text(request, text.data, text.len);
}

static void mcp_call_cancel(struct mcp_request *request)
{
        struct calling *c = request->data;
        tool_cancel(c->tool);
        free(c);
}

/* ---- its beginning ---- */

static const json_t *token_of(const struct mcp_request *request)
{
        const json_t *token = json_object_get(request->meta, "progressToken");
        return json_is_string(token) || json_is_integer(token) ? token : NULL;
}

/* The caller with the names for requests that give none: the session is the connection, the agent is the key,
 * or the client as it names itself. */
static struct caller caller_of(const struct mcp_request *request)
{
        struct caller caller = request->caller;
        const struct mcp_session *session = request->session;
        const json_t *client = json_object_get(request->meta, META "clientInfo");
        if (session)
                memcpy(caller.session, session->name, sizeof caller.session);
        caller_set_agent(&caller, client ? rpc_text(client, "name") : session ? session->agent : NULL);
        return caller;
}

void mcp_tools_call(struct mcp_request *request)
{
        static const struct tool_events quiet = {.on_violation = mcp_call_on_violation,
                                                 .on_end = mcp_call_on_end};
        static const struct tool_events loud = {mcp_call_on_output, mcp_call_on_violation, mcp_call_on_end};
        const json_t *params = request->message.params;
        const char *name = rpc_text(params, "name");
        json_t *arguments = json_object_get(params, "arguments");
        const struct tool *tool = name ? tool_find(name) : NULL;
        if (!name || (arguments && !json_is_object(arguments))) {
                mcp_refuse(request, RPC_INVALID_PARAMS, NULL,
                           name ? "arguments must be an object" : "name must be a string");
                return;
        }
        if (!tool) {
                mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "unknown tool: %.100s", name);
                return;
        }
        struct calling *c = calloc(1, sizeof *c);
        if (!c) {
                mcp_refuse(request, RPC_INTERNAL, NULL, "out of memory");
                return;
        }
        c->request = request;
        c->token = token_of(request);
        const struct caller caller = caller_of(request);
        const struct tool_options options = {.core = request->mcp->core,
                                             .caller = &caller,
                                             .for_model = true,
                                             .events = c->token ? &loud : &quiet,
                                             .context = c};
        request->data = c;
        struct tool_call *begun =
                tool_begin(tool, arguments ? json_incref(arguments) : json_object(), &options);
        if (!begun)
                return;
        c->tool = begun;
        request->cancel = mcp_call_cancel;
}
