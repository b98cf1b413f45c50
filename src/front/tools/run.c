/* front/tools/run.c -- sandbox.exec and execute_shell, which run a command in a new sandbox or in that of a
 * session; and functions shared with execute_docker (docker.c). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "core/execution/submit.h"
#include "core/settings/mount_fields.h"
#include "core/settings/network_fields.h"
#include "front/tools/brief.h"
#include "front/tools/internal.h"

#define CODE_MAX (4 * 1024 * 1024 - 4096)
#define STDIN_MAX (16 * 1024 * 1024)
#define EXEC_TIMEOUT_MS 5000
#define TIMEOUT_MAX_MS (7 * INT64_C(86400000))

static const char *const exec_runtimes[] = {"sh", "python3", "node", NULL};
static const char *const shells[] = {"bash", "sh", NULL};
static const struct field text_item = {
        .name = "", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .max = 131071};
static const struct field any_item = {.name = "", .type = FIELD_ANY};

const struct field run_secrets_field = {
        .name = "secrets",
        .type = FIELD_MAP,
        .item = &text_item,
        .max = 64,
        .help = "Environment variables that get the value of a secret: name of the variable to handle, "
                "{\"API_KEY\": \"{{secret:my-key}}\"}. You never see the value."};
const struct field run_timeout_field = {.name = "timeout_ms",
                                        .type = FIELD_INTEGER,
                                        .min = 1,
                                        .max = 0, /* a minimum only */
                                        .help = "Time limit in milliseconds."};
const struct field run_memory_field = {.name = "memory_mb",
                                       .type = FIELD_INTEGER,
                                       .min = 16,
                                       .max = 1048576,
                                       .help = "Memory limit in MiB."};
const struct field run_cpus_field = {.name = "cpus",
                                     .type = FIELD_NUMBER,
                                     .min = 10,
                                     .max = 1024000,
                                     .help = "CPU cores; 0.5 is half of one."};
const struct field run_agent_field = {
        .name = "agent",
        .type = FIELD_STRING,
        .flags = FIELD_NO_NUL,
        .min = 1,
        .max = 128,
        .help = "Name of the agent that you are, if the operator gave each agent a sandbox or a directory of "
                "its own; by default the name of the API key or of the client."};
const struct field run_env_field = {
        .name = "env", .type = FIELD_MAP, .item = &text_item, .max = 1000, .help = "Environment variables."};
const struct field run_files_field = {
        .name = "files",
        .type = FIELD_MAP,
        .item = &any_item,
        .max = 256,
        .check = request_files_check,
        .help = "Files to write to /workspace first: path to text, or to {\"base64\": \"...\"}."};

const struct field *run_network_field(void)
{
        static struct field field = {.name = "network",
                                     .type = FIELD_OBJECT,
                                     .help = "The network access, at most what the operator allows: "
                                             "{\"tier\": \"standard\", \"allowed_domains\": "
                                             "[\"pypi.org\"]}."};
        field.fields = network_request_fields();
        return &field;
}

const struct field run_mounts_field = {.name = "mounts",
                                       .type = FIELD_ARRAY,
                                       .item = &mount_request,
                                       .max = KEEPER_MOUNTS_MAX,
                                       .check = mounts_check_request,
                                       .help = "Directories that the operator offers by name: [{\"name\": "
                                               "\"datasets\", \"target\": \"/data\"}]."};

const struct field *exec_tool_input(void)
{
        static struct field fields[] = {{.name = "runtime",
                                         .type = FIELD_WORD,
                                         .flags = FIELD_REQUIRED,
                                         .words = exec_runtimes,
                                         .help = "The language of the code."},
                                        {.name = "code",
                                         .type = FIELD_STRING,
                                         .flags = FIELD_REQUIRED,
                                         .max = CODE_MAX,
                                         .help = "The snippet, of one or many lines."},
                                        {.name = "stdin",
                                         .type = FIELD_STRING,
                                         .max = STDIN_MAX,
                                         .help = "Standard input; none by default."},
                                        {0},
                                        {0},
                                        {0}};
        fields[3] = run_timeout_field;
        fields[3].help = "Time limit in milliseconds (5000).";
        fields[3].standard = "5000";
        fields[4] = run_secrets_field;
        return fields;
}

const struct field *exec_tool_output(void)
{
        static const struct field fields[] = {
                {"stdout", FIELD_STRING, FIELD_REQUIRED, .help = "What it wrote there."},
                {"stderr", FIELD_STRING, FIELD_REQUIRED, .help = "What it wrote there."},
                {"exit_code", FIELD_INTEGER, FIELD_REQUIRED, .help = "0 is success."},
                {"hint", FIELD_STRING,
                 .help = "Only if a limit or a refused connection ended the code: which, and what raises or "
                         "allows it."},
                {0}};
        return fields;
}

const struct field *shell_tool_input(void)
{
        static struct field fields[] = {
                {.name = "command",
                 .type = FIELD_STRING,
                 .flags = FIELD_REQUIRED,
                 .min = 1,
                 .max = CODE_MAX,
                 .help = "The command line, or a script of several lines."},
                {.name = "session",
                 .type = FIELD_STRING,
                 .flags = FIELD_NO_NUL,
                 .min = 1,
                 .max = 128,
                 .help = "A name of your choice: /workspace stays for the next call with it."},
                {.name = "cwd",
                 .type = FIELD_STRING,
                 .flags = FIELD_NO_NUL,
                 .min = 1,
                 .max = 4095,
                 .help = "Working directory; /workspace by default, where a relative path begins."},
                {.name = "stdin", .type = FIELD_STRING, .max = STDIN_MAX, .help = "Standard input."},
                {.name = "shell", .type = FIELD_WORD, .words = shells, .help = "bash by default."},
                {0},
                {0},
                {0},
                {0},
                {0},
                {0},
                {0},
                {0},
                {0},
                {0}};
        fields[5] = run_env_field;
        fields[6] = run_files_field;
        fields[7] = run_timeout_field;
        fields[8] = run_memory_field;
        fields[9] = run_secrets_field;
        fields[10] = run_agent_field;
        fields[11] = run_cpus_field;
        fields[12] = *run_network_field();
        fields[13] = run_mounts_field;
        return fields;
}

/* ---- running ---- */

struct running {
        struct submission submission;
        struct tool_call *call;
        bool bare; /* sandbox.exec: three fields, and a timeout is an error */
};

static void run_tool_on_output(struct execution *ex, enum cella_stream stream, const char *data, size_t len,
                               void *context)
{
        const struct tool_options *o = &((struct running *)context)->call->options;
        (void)ex;
        o->events->on_output(o->context, stream, data, len);
}

static void run_tool_on_violation(struct execution *ex, const struct violation *violation, void *context)
{
        const struct tool_options *o = &((struct running *)context)->call->options;
        (void)ex;
        if (o->events->on_violation)
                o->events->on_violation(o->context, violation);
}

static int write_bare(const struct cella_result *r, struct tool_result *ret)
{
        struct json j = {.out = open_memstream(&ret->json, &ret->len)};
        if (!j.out)
                return -ENOMEM;
        json_put_open(&j, NULL, '{');
        json_put_bytes(&j, "stdout", r->output[CELLA_STDOUT], r->output_len[CELLA_STDOUT]);
        json_put_bytes(&j, "stderr", r->output[CELLA_STDERR], r->output_len[CELLA_STDERR]);
        json_put_number(&j, "exit_code", (uint64_t)r->exit_code);
        if (r->hint[0] && r->status != CELLA_TIMEOUT) /* that is an error, which has a hint of its own */
                json_put_string(&j, "hint", r->hint);
        json_put_close(&j, '}');
        fclose(j.out);
        return 0;
}

static int brief_bare(const struct tool_call *call, const struct cella_result *r, struct tool_result *ret)
{
        const struct settings *settings = &call->core->settings;
        for (size_t max = settings->mcp_text_bytes;;) {
                struct brief brief = {0};
                int e = brief_make(r, NULL, settings->audit_keep_output, max, ret, &brief);
                if (e == 0)
                        e = write_bare(&brief.result, ret);
                brief_done(&brief);
                max = brief_less(max, ret->len, settings->mcp_text_bytes);
                if (e < 0 || max == 0)
                        return e;
                tool_result_done(ret);
        }
}

static void fill_bare(const struct tool_call *call, const struct cella_result *result,
                      struct tool_result *ret)
{
        struct cella_result shown = *result;
        const struct cella_result *r = &shown;
        result_hint(call, &shown);
        int e = call->options.for_model ? brief_bare(call, r, ret) : write_bare(r, ret);
        if (e < 0) {
                err_set(&ret->err, CELLA_INTERNAL, e, "result");
        } else if (r->status == CELLA_TIMEOUT) {
                ret->timeout = true;
                err_say(&ret->err, CELLA_INVALID_REQUEST, -ETIMEDOUT, "timeout");
                err_hint(&ret->err, "timeout_ms gives it more time");
        }
}

static void run_tool_on_end(struct execution *ex, void *context)
{
        struct running *run = context;
        struct tool_result result = {.err = ex->failure};
        const struct result_run extra = execution_extra(ex);
        if (ex->failure.kind == CELLA_OK && run->bare)
                fill_bare(run->call, &ex->result, &result);
        else if (ex->failure.kind == CELLA_OK)
                result_make(run->call, &ex->result, &ex->request, ex->walls, ex->missing, &extra, &result);
        tool_end(run->call, &result);
        tool_result_done(&result);
        execution_release(ex);
        free(run);
}

static void run_tool_on_refused(struct submission *submission, const struct cella_err *err)
{
        struct running *run = list_entry(submission, struct running, submission);
        struct tool_call *call = run->call;
        call->logged = true;
        free(run);
        tool_fail(call, err);
}

static void run_tool_cancel(struct tool_call *call)
{
        struct running *run = call->data;
        submission_cancel(&run->submission);
        free(run);
}

/* Takes ownership of the document, which is one for POST /v1/exec. */
static void run_tool_start(struct tool_call *call, json_t *document, bool bare)
{
        static const struct submission_events events = {.on_refused = run_tool_on_refused};
        static const struct execution_events quiet = {.on_violation = run_tool_on_violation,
                                                      .on_end = run_tool_on_end};
        static const struct execution_events loud = {NULL, run_tool_on_output, run_tool_on_violation,
                                                     run_tool_on_end};
        struct running *run = calloc(1, sizeof *run);
        struct cella_err err = {0};
        if (!run) {
                json_decref(document);
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "execution");
                tool_fail(call, &err);
                return;
        }
        struct submission *s = &run->submission;
        run->call = call;
        run->bare = bare;
        *s = (struct submission){.core = call->core,
                                 .caller = &call->caller,
                                 .kind = EXECUTION_PLAIN,
                                 .events = &events,
                                 .execution_events = call->options.events->on_output ? &loud : &quiet,
                                 .context = run};
        if (submission_read(s, document, &err) < 0) {
                run_tool_on_refused(s, &err);
                return;
        }
        /* The sandbox of a session keeps its limits for later calls. */
        s->sandbox_ignores_timeout = exec_request_scope(call->core, &s->request) != SCOPE_EXECUTION;
        s->request.list_files = s->request.rich = !bare;
        s->request.isolated = bare; /* its callers rely on the isolation, not on the settings */
        call->data = run;
        call->cancel = run_tool_cancel;
        submission_start(s);
}

/* ---- shared by the tools that run a command ---- */

static void run_tool_set(json_t *document, const char *name, json_t *value)
{
        if (value)
                json_object_set(document, name, value);
}

json_t *run_limits(const struct tool_call *call)
{
        const json_t *memory = json_object_get(call->arguments, "memory_mb");
        json_t *limits = json_object();
        if (memory)
                json_object_set_new(limits, "memory_bytes",
                                    json_integer(json_integer_value(memory) * INT64_C(1048576)));
        run_tool_set(limits, "cpus", json_object_get(call->arguments, "cpus"));
        return limits;
}

json_t *run_document(const struct tool_call *call)
{
        static const char *const same[] = {"stdin", "env",   "files",  "cwd",     "session",
                                           "agent", "image", "engine", "network", "mounts"};
        json_t *document = json_object(), *limits = run_limits(call);
        const json_t *timeout = json_object_get(call->arguments, "timeout_ms");
        for (size_t i = 0; i < ARRAY_LEN(same); i++)
                run_tool_set(document, same[i], json_object_get(call->arguments, same[i]));
        if (timeout) {
                json_int_t ms = json_integer_value(timeout);
                json_object_set_new(document, "timeout_ms",
                                    json_integer(ms < TIMEOUT_MAX_MS ? ms : TIMEOUT_MAX_MS));
        }
        if (json_object_size(limits) > 0)
                run_tool_set(document, "limits", limits);
        json_decref(limits);
        return document;
}

/* The tables of the tools check all but content and names, which the table of the request checks. */
void run_begin(struct tool_call *call, json_t *document, bool bare)
{
        struct cella_err err = {0};
        json_t *secrets = json_object_get(call->arguments, "secrets");
        int r = 0;
        if (secrets && json_object_set(document, "secrets", secrets) < 0) /* never run without them */
                r = err_set(&err, CELLA_INTERNAL, -ENOMEM, "secrets");
        if (r < 0 || schema_check(exec_fields(), document, "", &err) < 0) {
                json_decref(document);
                tool_fail(call, &err);
                return;
        }
        run_tool_start(call, document, bare);
}

void exec_tool_begin(struct tool_call *call)
{
        json_t *document = run_document(call);
        run_tool_set(document, "runtime", json_object_get(call->arguments, "runtime"));
        run_tool_set(document, "code", json_object_get(call->arguments, "code"));
        /* Always a fresh sandbox with an empty workspace, whatever the settings are. */
        json_object_set_new(document, "scope", json_string(scope_words[SCOPE_EXECUTION]));
        json_object_set_new(document, "workspace", json_string(workspace_words[WORKSPACE_NONE]));
        if (!json_object_get(document, "timeout_ms"))
                json_object_set_new(document, "timeout_ms", json_integer(EXEC_TIMEOUT_MS));
        run_begin(call, document, true);
}

void shell_tool_begin(struct tool_call *call)
{
        json_t *document = run_document(call);
        const char *shell = tool_text(call, "shell");
        json_object_set_new(document, "runtime", json_string(shell ? shell : shells[0]));
        run_tool_set(document, "code", json_object_get(call->arguments, "command"));
        run_begin(call, document, false);
}
