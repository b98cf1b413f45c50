/* front/tools/call.c -- a call of a tool from its arguments to its result. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/record.h"
#include "core/request/synonyms.h"
#include "front/tools/internal.h"

const char *tool_result_kind(const struct tool_result *result)
{
        return result->timeout ? "timeout" : cella_kind_name(result->err.kind);
}

const char *tool_text(const struct tool_call *call, const char *name)
{
        return json_string_value(json_object_get(call->arguments, name));
}

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
                refusal_record(call->core, &call->caller, NULL, err);
        struct tool_result result = {.err = *err};
        result_name_limits(call->tool, &result.err);
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

#define REST_OF_DOCUMENT 500 /* bytes beside the list */

bool tool_shorten(const struct tool_call *call, json_t *list)
{
        size_t room = call->core->settings.mcp_text_bytes - REST_OF_DOCUMENT, i;
        json_t *entry;
        if (!call->options.for_model)
                return false;
        json_array_foreach (list, i, entry) {
                const size_t len = json_dumpb(entry, NULL, 0, JSON_COMPACT) + 1;
                if (len > room)
                        break;
                room -= len;
        }
        const bool more = i < json_array_size(list);
        while (json_array_size(list) > i)
                json_array_remove(list, json_array_size(list) - 1);
        return more;
}

static int tools_call_check(const struct tool *tool, const struct caller *caller, json_t *arguments,
                            struct cella_err *err)
{
        int r = tool->may ? caller_may(caller, (enum capability)tool->may, err) : 0;
        if (r == 0 && json_is_object(arguments))
                r = synonyms_apply_tool(tool->input(), arguments, err);
        return r < 0 ? r : schema_check(tool->input(), arguments, "", err);
}

struct tool_call *tool_begin(const struct tool *tool, json_t *arguments, const struct tool_options *options)
{
        struct tool_call *call = calloc(1, sizeof *call);
        struct cella_err err = {0};
        struct tool_result refused = {0};
        if (!call || tools_call_check(tool, options->caller, arguments, &err) < 0) {
                if (!call)
                        err_set(&err, CELLA_INTERNAL, -ENOMEM, "tool");
                if (tool->may == MAY_EXEC)
                        refusal_record(options->core, options->caller, NULL, &err);
                json_decref(arguments);
                free(call);
                refused.err = err;
                options->events->on_end(options->context, &refused);
                return NULL;
        }
        *call = (struct tool_call){.tool = tool,
                                   .options = *options,
                                   .caller = *options->caller,
                                   .core = options->core,
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
