/* front/tools/sandboxes.c -- list_sandboxes and kill_sandbox. */
#include <string.h>

#include "core/sandbox/sandbox.h"
#include "front/tools/internal.h"

const struct field *sandboxes_tool_input(void)
{
        static const struct field fields[] = {{0}};
        return fields;
}

const struct field *sandboxes_tool_output(void)
{
        static const struct field sandbox[] = {{"id", FIELD_STRING, FIELD_REQUIRED},
                                               {"state", FIELD_STRING, FIELD_REQUIRED},
                                               {"session", FIELD_STRING, FIELD_REQUIRED | FIELD_NULLABLE},
                                               {"agent", FIELD_STRING, FIELD_REQUIRED | FIELD_NULLABLE},
                                               {"created", FIELD_STRING, FIELD_REQUIRED},
                                               {"executions", FIELD_INTEGER, FIELD_REQUIRED},
                                               {"processes", FIELD_INTEGER, FIELD_REQUIRED},
                                               {0}};
        static const struct field item = {.name = "", .type = FIELD_OBJECT, .fields = sandbox};
        static const struct field fields[] = {
                {"sandboxes", FIELD_ARRAY, FIELD_REQUIRED, .item = &item},
                {"truncated", FIELD_BOOLEAN, FIELD_REQUIRED, .help = "There are more."},
                {0}};
        return fields;
}

void sandboxes_tool_begin(struct tool_call *call)
{
        const struct field *shown = sandboxes_tool_output()->item->fields;
        json_t *list = json_array();
        list_each (at, &call->core->sandboxes, other) {
                const struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                if (sb->one_shot || sb->place.ahead || sb->removing || !caller_sees(&call->caller, sb->key))
                        continue;
                json_t *whole = sandbox_to_json(sb), *one = json_object();
                for (const struct field *f = shown; f->name; f++)
                        json_object_set(one, f->name, json_object_get(whole, f->name));
                json_decref(whole);
                json_array_append_new(list, one);
        }
        const bool more = tool_shorten(call, list);
        tool_end_json(call, json_pack("{s:o, s:b}", "sandboxes", list, "truncated", (int)more));
}

const struct field *kill_tool_input(void)
{
        static const struct field fields[] = {TARGET_FIELDS, {0}};
        return fields;
}

const struct field *kill_tool_output(void)
{
        static const struct field fields[] = {
                {"sandbox", FIELD_STRING, FIELD_REQUIRED}, {"killed", FIELD_BOOLEAN, FIELD_REQUIRED}, {0}};
        return fields;
}

void kill_tool_begin(struct tool_call *call)
{
        struct cella_err err = {0};
        struct core_sandbox *sb = NULL;
        if (target_find(call, false, &sb, &err) < 0) {
                tool_fail(call, &err);
                return;
        }
        json_t *document = json_pack("{s:s, s:b}", "sandbox", sb->id, "killed", 1);
        sandbox_remove(sb);
        tool_end_json(call, document);
}
