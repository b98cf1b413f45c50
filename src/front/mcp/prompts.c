/* front/mcp/prompts.c -- a prompt for users, and completions for the templates of resources. */
#include <string.h>

#include "core/sandbox/sandbox.h"
#include "front/mcp/mcp.h"

#define COMPLETIONS_MAX 100

static const char solve[] =
        "Solve the following task by writing code and running it with the tools of this server; do not work "
        "out by hand what code can compute. Keep one session, so that files and variables stay between "
        "calls. Look at the output of each run before you go on, and say at the end what you ran.\n\nTask: ";

void mcp_prompts_list(struct mcp_request *request)
{
        json_t *result = json_pack("{s:[{s:s, s:s, s:s, s:[{s:s, s:s, s:b}]}]}", "prompts", "name",
                                   "solve_with_code", "title", "Solve a task with code", "description",
                                   "Solves a task with code that runs in a sandbox.", "arguments", "name",
                                   "task", "description", "The task.", "required", 1);
        mcp_reply_list(request, result);
}

void mcp_prompts_get(struct mcp_request *request)
{
        const json_t *params = request->message.params;
        const char *name = rpc_text(params, "name");
        const char *task = rpc_text(json_object_get(params, "arguments"), "task");
        if (!name || strcmp(name, "solve_with_code") != 0)
                mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "unknown prompt: %.100s", name ? name : "");
        else if (!task)
                mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "arguments.task must be a string");
        else
                mcp_reply(request,
                          json_pack("{s:[{s:s, s:{s:s, s:o}}]}", "messages", "role", "user", "content",
                                    "type", "text", "text", json_sprintf("%s%s", solve, task)));
}

/* ---- completions ---- */

static void mcp_prompts_add(json_t *values, const char *value, const char *begun)
{
        if (json_array_size(values) < COMPLETIONS_MAX && !strncmp(value, begun, strlen(begun)))
                json_array_append_new(values, json_string(value));
}

static void add_sandboxes(const struct mcp_request *request, json_t *values, const char *begun)
{
        list_each (at, &request->mcp->core->sandboxes, other) {
                const struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (!sb->one_shot && !sb->place.ahead && !sb->removing &&
                    caller_sees(&request->caller, sb->key))
                        mcp_prompts_add(values, sb->id, begun);
        }
}

void mcp_complete(struct mcp_request *request)
{
        const json_t *params = request->message.params, *argument = json_object_get(params, "argument");
        const char *type = rpc_text(json_object_get(params, "ref"), "type");
        const char *name = rpc_text(argument, "name"), *begun = rpc_text(argument, "value");
        const bool resource = type && !strcmp(type, "ref/resource");
        if (!name || !begun || !type || (!resource && strcmp(type, "ref/prompt") != 0)) {
                mcp_refuse(request, RPC_INVALID_PARAMS, NULL,
                           "ref must be a ref/prompt or a ref/resource, argument must have name and value");
                return;
        }
        json_t *values = json_array();
        if (resource && !strcmp(name, "sandbox"))
                add_sandboxes(request, values, begun);
        if (resource && !strcmp(name, "stream")) {
                mcp_prompts_add(values, "stdout", begun);
                mcp_prompts_add(values, "stderr", begun);
        }
        mcp_reply(request, json_pack("{s:{s:o, s:b}}", "completion", "values", values, "hasMore", 0));
}
