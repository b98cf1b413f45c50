/* front/tools/tools.c -- the table, and the life of a call. */
#include "front/tools/tools.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "front/tools/parts.h"

#define NOT_THERE                                                                                            \
        "There is no network unless the operator allowed it, and no way to ask the user: no prompts, no "    \
        "browser, no display. "

const struct tool tools[] = {
        {"sandbox.exec", "Run a snippet in a fresh sandbox",
         "Runs one snippet of sh, python3 or node in a fresh, isolated Linux sandbox and returns what it "
         "printed. Nothing is kept: each call starts with an empty /workspace, and files written there are "
         "gone afterwards. " NOT_THERE
         "Only what is printed comes back, so print the answer. A non-zero exit_code is not a failure of "
         "the tool: read stderr. The default time limit is 5000 ms; code that needs longer fails with "
         "'timeout' unless timeout_ms says more.",
         MAY_EXEC, 0, exec_tool_input, exec_tool_output, exec_tool_begin},
        {"execute_python", "Run Python",
         "Runs Python 3 in an isolated Linux sandbox. Returned are stdout and stderr, the value of the last "
         "expression, and figures of matplotlib as images (plt.show() or a figure as last expression). "
         "Without 'session' and 'context' everything is gone afterwards. With 'session' (a name of your "
         "choice) the files in /workspace stay for the next call with that name; with 'context' variables, "
         "imports and functions stay, too. " NOT_THERE
         "The standard library is always there; other packages only if they are installed on the machine "
         "(name them in 'packages' to be told at once). An exception is a normal result with exit_code 1 "
         "and 'error'.",
         MAY_EXEC, 0, python_tool_input, result_fields, python_tool_begin},
        {"execute_shell", "Run a shell command",
         "Runs a command line with bash in an isolated Linux sandbox, working directory /workspace. Pipes, "
         "redirections and scripts of several lines work; the programs are those in /usr/bin of the "
         "machine. Without 'session' everything is gone afterwards; with it the files in /workspace stay "
         "for the next call with that name. " NOT_THERE
         "You are an ordinary user without sudo, and cannot install anything. A non-zero exit_code is a "
         "normal result. Long output is cut in the middle: filter it, or write it to a file and read that.",
         MAY_EXEC, 0, shell_tool_input, result_fields, shell_tool_begin},
        {"execute_docker", "Run a command in an image",
         "Runs a command in a sandbox made from a container image ('python:3.12-slim'), which is pulled "
         "first "
         "if it is not there and the operator allows that; a pull takes its time. All of the image may be "
         "written to, and nothing of it is kept afterwards, unless you give a 'session'. 'files' are written "
         "to "
         "/workspace first. The image 'host' is a read-only view of this machine and always there. " NOT_THERE
         "A non-zero exit_code is a normal result.",
         MAY_EXEC, 0, docker_tool_input, result_fields, docker_tool_begin},
        {"read_file", "Read a file of a sandbox",
         "Reads a file from a session's sandbox: text as it is, pictures as images, other bytes as base64. "
         "At most max_bytes at once; go on with 'offset' when 'truncated' is true.",
         MAY_FILES, TOOL_READS, read_tool_input, read_tool_output, read_tool_begin},
        {"write_file", "Write a file in a sandbox",
         "Writes a file in a session's sandbox, whole or not at all; directories above it are made, and an "
         "older file of that name is replaced. The session is made if there is none of that name.",
         MAY_FILES, TOOL_DESTROYS | TOOL_REPEATABLE, write_tool_input, write_tool_output, write_tool_begin},
        {"list_files", "List a directory of a sandbox",
         "Lists a directory of a session's sandbox (/workspace unless 'path' says otherwise), not what is "
         "below its directories.",
         MAY_FILES, TOOL_READS, list_tool_input, list_tool_output, list_tool_begin},
        {"list_sandboxes", "List the sandboxes",
         "Lists the sandboxes that stay between calls, with the sessions they belong to.", 0, TOOL_READS,
         sandboxes_tool_input, sandboxes_tool_output, sandboxes_tool_begin},
        {"kill_sandbox", "End a sandbox",
         "Ends a session's sandbox with everything in it: processes, variables, and the files in its "
         "/workspace. The next call with that session starts with nothing.",
         MAY_MANAGE, TOOL_DESTROYS | TOOL_REPEATABLE, kill_tool_input, kill_tool_output, kill_tool_begin},
};
const size_t tools_len = ARRAY_LEN(tools);

static bool is_called(const char *name, const char *called)
{
        for (; *name && (*name == *called || (*name == '.' && *called == '_')); name++)
                called++;
        return *name == *called;
}

const struct tool *tool_find(const char *name)
{
        for (size_t i = 0; i < tools_len; i++)
                if (is_called(tools[i].name, name))
                        return &tools[i];
        return NULL;
}

json_t *tool_input_schema(const struct tool *tool)
{
        return schema_describe(tool->input());
}

/* A result may have more than the table knows of, and a client must not refuse it for that. */
static void open_up(json_t *schema)
{
        const char *name;
        json_t *below;
        if (json_is_false(json_object_get(schema, "additionalProperties")))
                json_object_del(schema, "additionalProperties");
        json_object_foreach (json_object_get(schema, "properties"), name, below)
                open_up(below);
        if ((below = json_object_get(schema, "items")))
                open_up(below);
}

json_t *tool_output_schema(const struct tool *tool)
{
        json_t *schema = schema_describe(tool->output());
        open_up(schema);
        return schema;
}

const char *tool_result_kind(const struct tool_result *result)
{
        return result->timeout ? "timeout" : cella_kind_name(result->err.kind);
}

const char *tool_text(const struct tool_call *call, const char *name)
{
        return json_string_value(json_object_get(call->arguments, name));
}

/* ---- the life of a call ---- */

static void free_call(struct tool_call *call)
{
        json_decref(call->arguments);
        free(call);
}

void tool_result_done(struct tool_result *result)
{
        for (unsigned i = 0; i < result->n_images; i++) {
                free(result->images[i].mime);
                free(result->images[i].data);
        }
        free(result->json);
        free(result->text);
        *result = (struct tool_result){0};
}

void tool_end(struct tool_call *call, const struct tool_result *result)
{
        call->ended = true;
        call->options.events->on_end(call->options.context, result);
        if (!call->beginning)
                free_call(call);
}

void tool_fail(struct tool_call *call, const struct cella_err *err)
{
        if (call->tool->may == MAY_EXEC && !call->logged)
                refusal_record(call->box, &call->caller, NULL, err);
        const struct tool_result result = {.err = *err};
        tool_end(call, &result);
}

void tool_end_json(struct tool_call *call, json_t *document)
{
        struct tool_result result = {.json = document ? json_dumps(document, JSON_COMPACT) : NULL};
        json_decref(document);
        if (result.json)
                result.len = strlen(result.json);
        else
                err_set(&result.err, CELLA_INTERNAL, -ENOMEM, "result");
        tool_end(call, &result);
        tool_result_done(&result);
}

static int check(const struct tool *tool, const struct caller *caller, const json_t *arguments,
                 struct cella_err *err)
{
        int r = tool->may ? caller_may(caller, (enum capability)tool->may, err) : 0;
        return r < 0 ? r : schema_check(tool->input(), arguments, "", err);
}

struct tool_call *tool_begin(const struct tool *tool, json_t *arguments, const struct tool_options *options)
{
        struct tool_call *call = calloc(1, sizeof *call);
        struct cella_err err = {0};
        struct tool_result refused = {0};
        if (!call || check(tool, options->caller, arguments, &err) < 0) {
                if (!call)
                        err_set(&err, CELLA_INTERNAL, -ENOMEM, "tool");
                if (tool->may == MAY_EXEC)
                        refusal_record(options->box, options->caller, NULL, &err);
                json_decref(arguments);
                free(call);
                refused.err = err;
                options->events->on_end(options->context, &refused);
                return NULL;
        }
        *call = (struct tool_call){.tool = tool,
                                   .options = *options,
                                   .caller = *options->caller,
                                   .box = options->box,
                                   .arguments = arguments,
                                   .beginning = true};
        tool->begin(call);
        call->beginning = false;
        if (!call->ended)
                return call;
        free_call(call);
        return NULL;
}

void tool_cancel(struct tool_call *call)
{
        if (call->cancel)
                call->cancel(call);
        free_call(call);
}
