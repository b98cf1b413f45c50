/* front/tools/table.c -- the table of tools, and their schemas. */
#include "front/tools/tools.h"

#include <string.h>

#include "base/auto.h"
#include "front/tools/internal.h"

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
         "The standard library is always there; name other packages in 'packages': those that are not "
         "installed are fetched if there is a network, and a session keeps them. An exception is a normal "
         "result with exit_code 1 and 'error'.",
         MAY_EXEC, 0, python_tool_input, result_fields, python_tool_begin},
        {"execute_shell", "Run a shell command",
         "Runs a command line with bash in an isolated Linux sandbox, working directory /workspace. Pipes, "
         "redirections and scripts of several lines work; the programs are those in /usr/bin of the "
         "machine. Without 'session' everything is gone afterwards; with it the files in /workspace stay "
         "for the next call with that name. " NOT_THERE
         "You are an ordinary user without sudo; pip install and npm install work if there is a network, and "
         "a session keeps what they install. A non-zero exit_code is a normal result. Long output is cut in "
         "the middle: filter it, or write it to a file and read that.",
         MAY_EXEC, 0, shell_tool_input, result_fields, shell_tool_begin},
        {"execute_docker", "Run a command in an image",
         "Runs a command in a sandbox made from a container image ('python:3.12-slim'), which is pulled "
         "first if it is missing and the operator allows that; a pull takes time. The code may change all "
         "files of the image. Changes are lost afterwards, unless you give a 'session'. 'files' are written "
         "to /workspace first. The image 'host' is a read-only view of this machine and always "
         "available. " NOT_THERE "A non-zero exit_code is a normal result.",
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

/* A result may have fields that the table does not list, and clients must accept them. */
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
