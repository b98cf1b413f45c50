/* front/tools/result.c -- the result of a run, for programs and for models.
 *
 * Programs get the object of the HTTP API.  Models get a text that omits details that say nothing about the
 * code, because models pay for each word. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "engine/result.h"
#include "front/tools/brief.h"
#include "front/tools/internal.h"

#define RESULT_USUAL 2048 /* estimated size of a result without its output */

static const char *const status_words[] = {"exited",       "signaled",    "timeout",   "memory_limit",
                                           "disk_limit",   "cpu_limit",   "cancelled", "process_limit",
                                           "output_limit", "interrupted", NULL};

const struct field *result_fields(void)
{
        static const struct field usage[] = {
                {"cpu_ms", FIELD_NUMBER, FIELD_REQUIRED},
                {"memory_peak_bytes", FIELD_INTEGER, FIELD_REQUIRED | FIELD_NULLABLE},
                {"processes_peak", FIELD_INTEGER, FIELD_REQUIRED | FIELD_NULLABLE},
                {0}};
        static const struct field value[] = {
                {"mime", FIELD_STRING, FIELD_REQUIRED},
                {"data", FIELD_STRING,
                 .help = "Text, or base64 of a picture; absent if 'content' is present."},
                {"main", FIELD_BOOLEAN, .help = "It is the value of the last expression."},
                {"value", FIELD_INTEGER, .help = "Different forms of one value have the same number."},
                {"path", FIELD_STRING, .help = "The file in /workspace that contains the picture."},
                {"content", FIELD_INTEGER, .help = "Index of the content block with the picture."},
                {"omitted_bytes", FIELD_INTEGER, .help = "Size of a picture that is not returned."},
                {0}};
        static const struct field error[] = {
                {"name", FIELD_STRING}, {"message", FIELD_STRING}, {"traceback", FIELD_STRING}, {0}};
        static const struct field file[] = {{"path", FIELD_STRING, FIELD_REQUIRED},
                                            {"change", FIELD_STRING, FIELD_REQUIRED},
                                            {"bytes", FIELD_INTEGER, FIELD_REQUIRED},
                                            {0}};
        static const struct field violation[] = {{"kind", FIELD_STRING, FIELD_REQUIRED},
                                                 {"target", FIELD_STRING, FIELD_REQUIRED},
                                                 {"detail", FIELD_STRING, FIELD_REQUIRED},
                                                 {0}};
        static const struct field word = {.name = "", .type = FIELD_STRING};
        static const struct field isolation[] = {
                {"engine", FIELD_STRING, FIELD_REQUIRED},
                {"layers", FIELD_ARRAY, FIELD_REQUIRED, .item = &word},
                {"missing", FIELD_ARRAY, FIELD_REQUIRED, .item = &word},
                {"users", FIELD_INTEGER, 0, .help = "65536, if root can use other users."},
                {0}};
        static const struct field value_item = {.name = "", .type = FIELD_OBJECT, .fields = value},
                                  file_item = {.name = "", .type = FIELD_OBJECT, .fields = file},
                                  violation_item = {.name = "", .type = FIELD_OBJECT, .fields = violation};
        static const struct field fields[] = {
                {"id", FIELD_STRING, FIELD_REQUIRED, .help = "Id of the execution."},
                {"sandbox", FIELD_STRING, FIELD_REQUIRED},
                {"runtime", FIELD_STRING, FIELD_REQUIRED | FIELD_NULLABLE},
                {"status", FIELD_WORD, FIELD_REQUIRED, .words = status_words, .help = "Why it ended."},
                {"exit_code", FIELD_INTEGER, FIELD_REQUIRED, .help = "The code's own; 128+N after signal N."},
                {"signal", FIELD_INTEGER, FIELD_REQUIRED | FIELD_NULLABLE},
                {"timed_out", FIELD_BOOLEAN, FIELD_REQUIRED},
                {"stdout", FIELD_STRING, FIELD_REQUIRED},
                {"stderr", FIELD_STRING, FIELD_REQUIRED},
                {"stdout_truncated", FIELD_BOOLEAN, FIELD_REQUIRED},
                {"stderr_truncated", FIELD_BOOLEAN, FIELD_REQUIRED},
                {"stdout_bytes", FIELD_INTEGER, FIELD_REQUIRED},
                {"stderr_bytes", FIELD_INTEGER, FIELD_REQUIRED},
                {"duration_ms", FIELD_NUMBER, FIELD_REQUIRED},
                {"usage", FIELD_OBJECT, FIELD_REQUIRED, .fields = usage},
                {"results", FIELD_ARRAY, FIELD_REQUIRED, .item = &value_item,
                 .help = "The value of the last expression, and what was displayed."},
                {"context", FIELD_STRING, FIELD_NULLABLE, .help = "Its id; null: it ended with the call."},
                {"error", FIELD_OBJECT, FIELD_NULLABLE, .fields = error, .help = "The exception, if any."},
                {"files", FIELD_ARRAY, FIELD_REQUIRED, .item = &file_item},
                {"violations", FIELD_ARRAY, FIELD_REQUIRED, .item = &violation_item,
                 .help = "Operations that the sandbox refused."},
                {"isolation", FIELD_OBJECT, FIELD_REQUIRED, .fields = isolation},
                {"hint", FIELD_STRING, FIELD_REQUIRED | FIELD_NULLABLE,
                 .help = "If the code failed: how to raise the limit, or how to get a missing module."},
                {"cost", FIELD_NUMBER, FIELD_REQUIRED},
                {0}};
        return fields;
}

/* ---- for a model ---- */

static void show_output(struct json *j, const struct cella_result *r, enum cella_stream stream,
                        const char *name, const char *truncated)
{
        json_put_bytes(j, name, r->output[stream], r->output_len[stream]);
        if (r->output_truncated[stream])
                json_put_bool(j, truncated, true);
}

static void show_values(struct json *j, const struct result_run *run)
{
        bool any = false;
        for (size_t i = 0; i < run->n_results; i++) {
                if (!any)
                        json_put_open(j, "results", '[');
                any = true;
                json_put_raw(j, NULL, run->results[i], run->result_lens[i]);
        }
        if (any)
                json_put_close(j, ']');
        if (run->error)
                json_put_raw(j, "error", run->error, run->error_len);
        if (run->context)
                json_put_string(j, "context", run->context);
}

static void show_files(struct json *j, const struct cella_result *r)
{
        if (r->n_files == 0)
                return;
        json_put_open(j, "files", '[');
        for (size_t i = 0; i < r->n_files && i < 100; i++)
                json_put_string(j, NULL, r->files[i].path);
        json_put_close(j, ']');
}

static void show_violations(struct json *j, const struct cella_result *r)
{
        if (r->n_violations > 0)
                result_write_violations(j, "refused", r, 20);
}

static void tools_result_show(struct json *j, const struct cella_result *r,
                              const struct exec_request *request, const struct result_run *run)
{
        json_put_open(j, NULL, '{');
        json_put_string(j, "status", cella_status_name(r->status));
        json_put_number(j, "exit_code", (uint64_t)r->exit_code);
        show_output(j, r, CELLA_STDOUT, "stdout", "stdout_truncated");
        show_output(j, r, CELLA_STDERR, "stderr", "stderr_truncated");
        if (run)
                show_values(j, run);
        show_files(j, r);
        show_violations(j, r);
        if (r->hint[0])
                json_put_string(j, "hint", r->hint);
        if (request->renewed)
                json_put_string(j, "note", request->reason);
        json_put_close(j, '}');
}

/* ---- both ---- */

static int result_texts(const struct cella_result *r, const struct exec_request *request,
                        const struct result_about *about, struct tool_result *ret)
{
        struct json_text text;
        /* Escapes need little additional room. */
        const size_t output = r->output_len[CELLA_STDOUT] + r->output_len[CELLA_STDERR],
                     expected = RESULT_USUAL + output + output / 4;
        struct json j = {.out = json_text_open(&text, expected)};
        if (j.out) {
                result_write(&j, r, about, 0);
                fclose(j.out);
                ret->json = text.data;
                ret->len = text.len;
        }
        j = (struct json){.out = json_text_open(&text, expected)};
        if (j.out) {
                tools_result_show(&j, r, request, about->run);
                fclose(j.out);
                ret->text = text.data;
                ret->text_len = text.len;
        }
        return ret->json && ret->text ? 0 : -ENOMEM;
}

static int result_brief(const struct tool_call *call, const struct cella_result *r,
                        const struct exec_request *request, struct result_about about,
                        struct tool_result *ret)
{
        const struct result_run *run = about.run;
        int e = 0;
        const struct settings *settings = &call->core->settings;
        for (size_t max = settings->mcp_text_bytes; e == 0;) {
                struct brief brief = {0};
                if ((e = brief_make(r, run, settings->audit_keep_output, max, ret, &brief)) == 0) {
                        about.run = run ? &brief.run : NULL;
                        e = result_texts(&brief.result, request, &about, ret);
                }
                brief_done(&brief);
                max = brief_less(max, ret->len > ret->text_len ? ret->len : ret->text_len,
                                 settings->mcp_text_bytes);
                if (e < 0 || max == 0)
                        break;
                tool_result_done(ret);
                about.more = NULL; /* the report of the scanner: it is in the log */
        }
        return e;
}

static bool has_field(const struct tool *tool, const char *name)
{
        for (const struct field *f = tool->input(); f->name; f++)
                if (!strcmp(f->name, name))
                        return true;
        return false;
}

/* Limits that are arguments of tools. */
static const struct {
        const char *setting, *argument;
} tool_limits[] = {
        {"limits.memory_bytes", "memory_mb"}, {"limits.timeout_ms", "timeout_ms"}, {"limits.cpus", "cpus"}};

void result_name_limits(const struct tool *tool, struct cella_err *err)
{
        char message[2 * sizeof err->msg];
        for (size_t i = 0; i < ARRAY_LEN(tool_limits); i++) {
                char *at = strstr(err->msg, tool_limits[i].setting);
                if (!at || !has_field(tool, tool_limits[i].argument))
                        continue;
                snprintf(message, sizeof message, "%.*s%s%s", (int)(at - err->msg), err->msg,
                         tool_limits[i].argument, at + strlen(tool_limits[i].setting));
                snprintf(err->msg, sizeof err->msg, "%.*s", (int)sizeof err->msg - 1, message);
        }
}

/* A caller of a tool cannot use the options of the command line, and a limit may be an argument of the tool,
 * under another name. */
void result_hint(const struct tool_call *call, struct cella_result *r)
{
        char hint[2 * sizeof r->hint], *fix = strstr(r->hint, "; limits."),
                                       *options = strstr(r->hint, ", --");
        const char *argument = "";
        if (options)
                *options = '\0';
        if (!fix)
                return;
        *fix = '\0';
        fix += strlen("; ");
        for (size_t i = 0; i < ARRAY_LEN(tool_limits); i++)
                if (!strcmp(fix, tool_limits[i].setting) && has_field(call->tool, tool_limits[i].argument))
                        argument = tool_limits[i].argument;
        snprintf(hint, sizeof hint, "%s; %s%sthe setting %s", r->hint, argument, *argument ? ", or " : "",
                 fix);
        snprintf(r->hint, sizeof r->hint, "%.*s", (int)sizeof r->hint - 1, hint);
}

int result_make(const struct tool_call *call, const struct cella_result *result,
                const struct exec_request *request, uint32_t walls, uint32_t missing,
                const struct result_run *run, struct tool_result *ret)
{
        struct cella_result shown = *result;
        const struct cella_result *r = &shown;
        struct cella_isolation isolation;
        result_hint(call, &shown);
        isolation_fill(walls, missing, &isolation);
        struct result_about about = exec_request_about(request, &isolation);
        about.run = run;
        int e = call->options.for_model ? result_brief(call, r, request, about, ret)
                                        : result_texts(r, request, &about, ret);
        return e < 0 ? err_set(&ret->err, CELLA_INTERNAL, e, "result") : 0;
}
