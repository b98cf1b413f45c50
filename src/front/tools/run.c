/* front/tools/run.c -- the tools that run a command: sandbox.exec, execute_shell, execute_docker. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "box/execution.h"
#include "front/tools/parts.h"

#define CODE_MAX (4 * 1024 * 1024 - 4096)
#define STDIN_MAX (16 * 1024 * 1024)
#define EXEC_TIMEOUT_MS 5000
#define TIMEOUT_MAX_MS (7 * INT64_C(86400000))

static const char *const exec_runtimes[] = {"sh", "python3", "node", NULL};
static const char *const shells[] = {"bash", "sh", NULL};
static const struct field text_item = {
        .name = "", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .max = 131071};
static const struct field any_item = {.name = "", .type = FIELD_ANY};

static const struct field secrets_field = {
        .name = "secrets",
        .type = FIELD_MAP,
        .item = &text_item,
        .max = 64,
        .help = "Environment variables that get the value of a secret: name of the variable to handle, "
                "{\"API_KEY\": \"{{secret:my-key}}\"}. You never see the value."};
static const struct field timeout_field = {.name = "timeout_ms",
                                           .type = FIELD_INTEGER,
                                           .min = 1,
                                           .max = 0, /* a minimum only */
                                           .help = "Time limit in milliseconds."};
static const struct field memory_field = {.name = "memory_mb",
                                          .type = FIELD_INTEGER,
                                          .min = 16,
                                          .max = 1048576,
                                          .help = "Memory limit in MiB."};
static const struct field env_field = {
        .name = "env", .type = FIELD_MAP, .item = &text_item, .max = 1000, .help = "Environment variables."};
static const struct field files_field = {
        .name = "files",
        .type = FIELD_MAP,
        .item = &any_item,
        .max = 256,
        .help = "Files to write to /workspace first: path to text, or to {\"base64\": \"...\"}."};

const struct field *exec_tool_input(void)
{
        static struct field fields[] = {{.name = "runtime",
                                         .type = FIELD_WORD,
                                         .flags = FIELD_REQUIRED,
                                         .words = exec_runtimes,
                                         .help = "What runs the code."},
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
        fields[3] = timeout_field;
        fields[3].help = "Time limit in milliseconds (5000).";
        fields[3].standard = "5000";
        fields[4] = secrets_field;
        return fields;
}

const struct field *exec_tool_output(void)
{
        static const struct field fields[] = {
                {"stdout", FIELD_STRING, FIELD_REQUIRED, .help = "What it wrote there."},
                {"stderr", FIELD_STRING, FIELD_REQUIRED, .help = "What it wrote there."},
                {"exit_code", FIELD_INTEGER, FIELD_REQUIRED, .help = "0 is success."},
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
                 .help = "Working directory; /workspace by default."},
                {.name = "stdin", .type = FIELD_STRING, .max = STDIN_MAX, .help = "Standard input."},
                {.name = "shell", .type = FIELD_WORD, .words = shells, .help = "bash by default."},
                {0},
                {0},
                {0},
                {0},
                {0},
                {0}};
        fields[5] = env_field;
        fields[6] = files_field;
        fields[7] = timeout_field;
        fields[8] = memory_field;
        fields[9] = secrets_field;
        return fields;
}

static int check_command(const json_t *value, const char *path, struct cella_err *err)
{
        size_t i;
        const json_t *word;
        bool fits = json_is_string(value) ? json_string_length(value) > 0
                                          : json_is_array(value) && json_array_size(value) > 0 &&
                                                    json_array_size(value) <= 1000;
        json_array_foreach (value, i, word)
                fits = fits && json_is_string(word) &&
                       strlen(json_string_value(word)) == json_string_length(word);
        return fits ? 0
                    : err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                              "%s must be a command line, or an array of words", path);
}

const struct field *docker_tool_input(void)
{
        static struct field fields[] = {
                {.name = "image",
                 .type = FIELD_STRING,
                 .flags = FIELD_REQUIRED | FIELD_NO_NUL,
                 .min = 1,
                 .max = 256,
                 .help = "'host', or an image of the container engine: 'python:3.12'."},
                {.name = "command",
                 .type = FIELD_ANY,
                 .flags = FIELD_REQUIRED,
                 .check = check_command,
                 .help = "A command line, run by sh; or an array of words, run as it is."},
                {.name = "cwd",
                 .type = FIELD_STRING,
                 .flags = FIELD_NO_NUL,
                 .min = 1,
                 .max = 4095,
                 .help = "Working directory; /workspace by default."},
                {.name = "stdin", .type = FIELD_STRING, .max = STDIN_MAX, .help = "Standard input."},
                {0},
                {0},
                {0},
                {0},
                {0},
                {0}};
        fields[4] = env_field;
        fields[5] = files_field;
        fields[6] = timeout_field;
        fields[7] = memory_field;
        fields[8] = secrets_field;
        return fields;
}

/* ---- running ---- */

struct running {
        struct tool_call *call;
        struct execution *execution;
        bool bare; /* sandbox.exec: three fields, and a timeout is an error */
};

static void on_output(struct execution *ex, enum cella_stream stream, const char *data, size_t len,
                      void *context)
{
        const struct tool_options *o = &((struct running *)context)->call->options;
        (void)ex;
        o->events->on_output(o->context, stream, data, len);
}

static void on_violation(struct execution *ex, const struct violation *violation, void *context)
{
        const struct tool_options *o = &((struct running *)context)->call->options;
        (void)ex;
        if (o->events->on_violation)
                o->events->on_violation(o->context, violation);
}

static void fill_bare(const struct cella_result *r, struct tool_result *ret)
{
        struct json j = {.out = NULL};
        if (r->status == CELLA_TIMEOUT) {
                ret->timeout = true;
                err_say(&ret->err, CELLA_INVALID_REQUEST, -ETIMEDOUT, "timeout");
                err_hint(&ret->err, "timeout_ms gives it more time");
                return;
        }
        if (!(j.out = open_memstream(&ret->json, &ret->len))) {
                err_set(&ret->err, CELLA_INTERNAL, -ENOMEM, "result");
                return;
        }
        json_put_open(&j, NULL, '{');
        json_put_bytes(&j, "stdout", r->output[CELLA_STDOUT], r->output_len[CELLA_STDOUT]);
        json_put_bytes(&j, "stderr", r->output[CELLA_STDERR], r->output_len[CELLA_STDERR]);
        json_put_number(&j, "exit_code", (uint64_t)r->exit_code);
        json_put_close(&j, '}');
        fclose(j.out);
}

static void on_end(struct execution *ex, void *context)
{
        struct running *run = context;
        struct tool_result result = {.err = ex->failure};
        if (ex->failure.kind == CELLA_OK && run->bare)
                fill_bare(&ex->result, &result);
        else if (ex->failure.kind == CELLA_OK)
                result_make(run->call, &ex->result, &ex->request, ex->walls, ex->missing, NULL, &result);
        tool_end(run->call, &result);
        tool_result_done(&result);
        execution_release(ex);
        free(run);
}

static void cancel(struct tool_call *call)
{
        struct running *run = call->data;
        struct execution *ex = run->execution;
        execution_ref(ex);
        execution_release(ex);
        execution_cancel(ex);
        execution_unref(ex);
        free(run);
}

static int find_sandbox(struct tool_call *call, struct exec_request *request, struct box_sandbox **ret,
                        struct cella_err *err)
{
        uint64_t timeout_ms = request->timeout_ms;
        /* One that stays is not made after the limits of its first call. */
        if (request->session)
                request->timeout_ms = 0;
        int r = exec_request_sandbox(call->box, &call->caller, request, ret, err);
        request->timeout_ms = timeout_ms;
        return r;
}

/* Takes the document, which is one for POST /v1/exec. */
static void run(struct tool_call *call, json_t *document, bool bare)
{
        static const struct execution_events quiet = {.on_violation = on_violation, .on_end = on_end};
        static const struct execution_events loud = {NULL, on_output, on_violation, on_end};
        struct running *run = calloc(1, sizeof *run);
        struct exec_request request;
        struct box_sandbox *sb = NULL;
        struct cella_limits limits;
        struct cella_err err = {0};
        int r = run ? exec_request_from(document, &request, &err)
                    : (json_decref(document), err_set(&err, CELLA_INTERNAL, -ENOMEM, "execution"));
        if (r < 0) {
                free(run);
                tool_fail(call, &err);
                return;
        }
        request.list_files = !bare;
        if ((r = exec_request_admit(call->box, &call->caller, &request, true, &err)) == 0)
                r = find_sandbox(call, &request, &sb, &err);
        if (r == 0)
                r = exec_request_limits(&request, sb, &limits, &err);
        if (r == 0)
                r = execution_new(call->box, &call->caller, sb, &request, &limits, EXECUTION_PLAIN,
                                  call->options.events->on_output ? &loud : &quiet, run, &run->execution,
                                  &err);
        else
                exec_request_done(&request);
        if (r < 0) {
                if (sb && sb->one_shot)
                        sandbox_remove(sb);
                free(run);
                tool_fail(call, &err);
                return;
        }
        run->call = call;
        run->bare = bare;
        call->data = run;
        call->cancel = cancel;
        execution_start(run->execution);
}

/* ---- the three ---- */

static void set(json_t *document, const char *name, json_t *value)
{
        if (value)
                json_object_set(document, name, value);
}

/* What they have in common. */
static json_t *document_of(const struct tool_call *call)
{
        static const char *const same[] = {"stdin", "env", "files", "cwd", "session"};
        json_t *document = json_object(), *memory = json_object_get(call->arguments, "memory_mb");
        const json_t *timeout = json_object_get(call->arguments, "timeout_ms");
        for (size_t i = 0; i < ARRAY_LEN(same); i++)
                set(document, same[i], json_object_get(call->arguments, same[i]));
        if (timeout) {
                json_int_t ms = json_integer_value(timeout);
                json_object_set_new(document, "timeout_ms",
                                    json_integer(ms < TIMEOUT_MAX_MS ? ms : TIMEOUT_MAX_MS));
        }
        if (memory)
                json_object_set_new(
                        document, "limits",
                        json_pack("{s:I}", "memory_bytes", json_integer_value(memory) * INT64_C(1048576)));
        return document;
}

/* The tables of the tools are narrower than that of the request, but for what content and names may be. */
static void check_and_run(struct tool_call *call, json_t *document, bool bare)
{
        struct cella_err err = {0};
        if (tool_secrets(call, document, &err) < 0 || schema_check(exec_fields(), document, "", &err) < 0) {
                json_decref(document);
                tool_fail(call, &err);
                return;
        }
        run(call, document, bare);
}

void exec_tool_begin(struct tool_call *call)
{
        json_t *document = document_of(call);
        set(document, "runtime", json_object_get(call->arguments, "runtime"));
        set(document, "code", json_object_get(call->arguments, "code"));
        if (!json_object_get(document, "timeout_ms"))
                json_object_set_new(document, "timeout_ms", json_integer(EXEC_TIMEOUT_MS));
        check_and_run(call, document, true);
}

void shell_tool_begin(struct tool_call *call)
{
        json_t *document = document_of(call);
        const char *shell = tool_text(call, "shell");
        json_object_set_new(document, "runtime", json_string(shell ? shell : shells[0]));
        set(document, "code", json_object_get(call->arguments, "command"));
        check_and_run(call, document, false);
}

/* INTEGRATE(docker): other images. */
void docker_tool_begin(struct tool_call *call)
{
        const char *image = tool_text(call, "image");
        json_t *command = json_object_get(call->arguments, "command");
        struct cella_err err = {0};
        if (strcmp(image, "host") != 0) {
                err_say(&err, CELLA_ENGINE_UNAVAILABLE, -ENOTSUP,
                        "docker not found: no engine for image '%.80s'", image);
                err_hint(&err, "the image 'host' needs none: it is a read-only view of this machine");
                tool_fail(call, &err);
                return;
        }
        json_t *document = document_of(call);
        if (json_is_array(command)) {
                json_object_set(document, "command", command);
        } else {
                json_object_set_new(document, "runtime", json_string("sh"));
                json_object_set(document, "code", command);
        }
        check_and_run(call, document, false);
}
