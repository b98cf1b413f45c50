#include "front/tools/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/record.h"
#include "front/tools/tools.h"

/* ---- the list of tools ---- */

static json_t *tools_http_describe(const struct tool *tool)
{
        return json_pack("{s:s, s:s, s:s, s:o, s:o, s:f}", "name", tool->name, "title", tool->title,
                         "description", tool->description, "input_schema", tool_input_schema(tool),
                         "output_schema", tool_output_schema(tool), "cost", TOOL_COST);
}

/* The format of functions in the APIs of several models, where names have no dots. */
static json_t *describe_function(const struct tool *tool)
{
        char name[64];
        snprintf(name, sizeof name, "%s", tool->name);
        for (char *dot = strchr(name, '.'); dot; dot = strchr(dot, '.'))
                *dot = '_';
        return json_pack("{s:s, s:{s:s, s:s, s:o}}", "type", "function", "function", "name", name,
                         "description", tool->description, "parameters", tool_input_schema(tool));
}

void tools_http_list(struct call *call, json_t *body)
{
        const char *format = http_query(call->request, "format");
        const bool functions = format && !strcmp(format, "openai");
        struct cella_err err = {0};
        (void)body;
        if (format && !functions && strcmp(format, "cella") != 0) {
                err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "format must be one of 'cella', 'openai'");
                api_reply_err(call, &err);
                return;
        }
        json_t *list = json_array();
        for (size_t i = 0; i < tools_len; i++)
                json_array_append_new(list, functions ? describe_function(&tools[i])
                                                      : tools_http_describe(&tools[i]));
        api_reply(call, 200, json_pack("{s:o}", "tools", list));
}

/* ---- calls ---- */

struct calling {
        struct call *call;
        struct tool_call *tool;
};

static void tools_http_on_end(void *context, const struct tool_result *result)
{
        struct calling *c = context;
        struct call *call = c->call;
        http_on_gone(call->request, NULL, NULL);
        if (result->timeout) {
                /* with the output until then */
                json_t *body = json_loadb(result->json, result->len, JSON_ALLOW_NUL, NULL);
                if (!body)
                        body = json_object();
                json_object_set_new(body, "error",
                                    json_pack("{s:s, s:s, s:s}", "kind", tool_result_kind(result), "message",
                                              result->err.msg, "hint", result->err.hint));
                api_reply(call, 504, body);
        } else if (result->err.kind) {
                api_reply_err(call, &result->err);
        } else {
                http_reply(call->request, 200, "application/json", result->json, result->len);
        }
        free(c);
}

static void tools_http_on_gone(struct http_request *request, void *context)
{
        struct calling *c = context;
        (void)request;
        tool_cancel(c->tool);
        free(c);
}

static int read_arguments(const struct call *call, const struct tool *tool, json_t **ret,
                          struct cella_err *err)
{
        size_t len;
        const char *text = http_body(call->request, &len);
        int r = tool->may ? caller_may(&call->caller, (enum capability)tool->may, err) : 0;
        return r < 0 ? r : schema_parse(NULL, text, len, ret, err); /* tool_begin() checks them */
}

void tools_http_call(struct call *call, json_t *body)
{
        static const struct tool_events events = {.on_end = tools_http_on_end};
        const char *name = http_param(call->request, 0);
        const struct tool *tool = tool_find(name);
        struct cella_err err = {0};
        json_t *arguments = NULL;
        struct calling *c = calloc(1, sizeof *c);
        int r = !c      ? err_set(&err, CELLA_INTERNAL, -ENOMEM, "tool")
                : !tool ? err_say(&err, CELLA_NOT_FOUND, -ENOENT, "no tool '%.60s'", name)
                        : read_arguments(call, tool, &arguments, &err);
        (void)body;
        if (r < 0 || !c) {
                free(c);
                if (tool && tool->may == MAY_EXEC)
                        refusal_record(call->core, &call->caller, NULL, &err);
                api_reply_err(call, &err);
                return;
        }
        c->call = call;
        const struct tool_options options = {
                .core = call->core, .caller = &call->caller, .events = &events, .context = c};
        http_on_gone(call->request, tools_http_on_gone, c);
        struct tool_call *begun = tool_begin(tool, arguments, &options);
        if (begun)
                c->tool = begun;
}
