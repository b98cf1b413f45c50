/* front/tools/python.c -- execute_python: runs code in a context, so that values and figures are returned.
 *
 * admission -> (image) -> sandbox -> (files) -> context -> (packages) -> run -> result
 *
 * The context has a name and is kept, or it is created for this call.  The same applies to the sandbox: it
 * belongs to a session, or it is created for this call.  Objects created for this call are removed after the
 * answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/runtime.h"
#include "core/context/context.h"
#include "core/image/images.h"
#include "core/request/admission.h"
#include "front/tools/internal.h"
#include "front/tools/tick.h"

#define CODE_MAX (4 * 1024 * 1024 - 4096)
#define CONTEXTS_NAME_MAX 64

static const struct field any_item = {.name = "", .type = FIELD_ANY};
static const struct field module_item = {
        .name = "", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .min = 1, .max = 200};

static int check_python(const json_t *value, const char *path, struct cella_err *err)
{
        static const char language[] = "python";
        const char *name = json_string_value(value);
        struct runtime runtime;
        if (!strncmp(name, language, strlen(language)) && runtime_find(name, &runtime) == 0)
                return 0;
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s must be python3 or a version: python3.12",
                       path);
}

const struct field *python_tool_input(void)
{
        static struct field fields[] = {
                {.name = "code",
                 .type = FIELD_STRING,
                 .flags = FIELD_REQUIRED | FIELD_NO_NUL,
                 .max = CODE_MAX,
                 .help = "Python 3. The value of a last expression comes back as in a notebook."},
                {.name = "runtime",
                 .type = FIELD_STRING,
                 .flags = FIELD_NO_NUL,
                 .min = 1,
                 .max = 32,
                 .check = check_python,
                 .help = "A version: python3.12. By default the one that the operator chose."},
                {.name = "context",
                 .type = FIELD_STRING,
                 .flags = FIELD_NO_NUL,
                 .min = 1,
                 .max = CONTEXTS_NAME_MAX,
                 .help = "A name of your choice for an interpreter that stays: variables of one call are "
                         "there "
                         "in the next with the same name. Or the id of one (ctx_...)."},
                {.name = "session",
                 .type = FIELD_STRING,
                 .flags = FIELD_NO_NUL,
                 .min = 1,
                 .max = 128,
                 .help = "A name of your choice for a sandbox that stays: files in /workspace are there in "
                         "the "
                         "next call with it. By default that of the context."},
                {.name = "files",
                 .type = FIELD_MAP,
                 .item = &any_item,
                 .max = 256,
                 .check = request_files_check,
                 .help = "Files to write to /workspace first: path to text, or to {\"base64\": \"...\"}."},
                PACKAGES_FIELD,
                {.name = "timeout_ms",
                 .type = FIELD_INTEGER,
                 .min = 1,
                 .max = 0,
                 .help = "Time limit in milliseconds."},
                {.name = "memory_mb",
                 .type = FIELD_INTEGER,
                 .min = 16,
                 .max = 1048576,
                 .help = "Memory limit in MiB."},
                {.name = "allowed_imports",
                 .type = FIELD_ARRAY,
                 .item = &module_item,
                 .max = 256,
                 .help = "If given, code that imports any other module is refused."},
                {0},
                {0},
                {0},
                {0},
                {0}};
        fields[ARRAY_LEN(fields) - 5] = run_mounts_field;
        fields[ARRAY_LEN(fields) - 4] = run_agent_field;
        fields[ARRAY_LEN(fields) - 3] = run_cpus_field;
        fields[ARRAY_LEN(fields) - 2] = *run_network_field();
        return fields;
}

struct python {
        struct tool_call *call;
        struct core_sandbox *sandbox; /* until the context uses it */
        char sandbox_id[ID_SIZE], context_id[ID_SIZE];
        struct tick *tick;             /* files were written; waits before the code starts */
        bool own_sandbox, own_context; /* created for this call, removed after it */
        void *file;                    /* iterator over the arguments' files */
        struct bytes *put;
        char *content; /* content of the file that is being written */
        struct context *context;
        bool starting;
        struct install *install; /* installs the packages */
        bool packages_are_there;
        bool written; /* files, since the last tick */
        struct context_run *run;
        struct admission admission;
        struct image_wait *image; /* the image of the runtime is being pulled */
        struct exec_request
                code; /* the decisions about it, its runtime and image; borrows from the arguments */
};

static void go_on(struct python *p);

/* Removes the objects that were created for this call. */
static void python_tool_leave(struct python *p)
{
        if (p->own_sandbox && p->sandbox_id[0])
                target_leave(p->call->core, p->sandbox_id, "");
        else if (p->own_context && p->context_id[0])
                target_leave(p->call->core, p->sandbox_id, p->context_id);
        free(p->content);
        exec_request_done(&p->code);
        free(p);
}

static void python_tool_fail(struct python *p, const struct cella_err *err)
{
        struct tool_call *call = p->call;
        python_tool_leave(p);
        tool_fail(call, err);
}

static void python_tool_cancel(struct tool_call *call)
{
        struct python *p = call->data;
        admission_cancel(&p->admission);
        tick_cancel(p->tick);
        if (p->image)
                image_wait_cancel(p->image);
        if (p->put)
                bytes_cancel(p->put);
        if (p->starting)
                context_let_be(p->context);
        if (p->install)
                install_cancel(p->install);
        if (p->run) {
                context_run_release(p->run);
                context_run_cancel(p->run);
        }
        python_tool_leave(p);
}

/* ---- the sandbox ---- */

json_t *python_limits(const struct tool_call *call, bool with_timeout)
{
        const json_t *timeout = json_object_get(call->arguments, "timeout_ms");
        json_t *limits = run_limits(call);
        if (timeout && with_timeout)
                json_object_set(limits, "timeout_ms", (json_t *)timeout);
        return limits;
}

struct context *python_context(const struct tool_call *call, const char *id)
{
        list_each (at, &call->core->sandboxes, other) {
                const struct core_sandbox *sb = list_entry(at, struct core_sandbox, link);
                struct context *c =
                        caller_sees(&call->caller, sb->key) && !sb->removing ? context_find(sb, id) : NULL;
                if (c)
                        return c;
        }
        return NULL;
}

static int find_context_by_id(struct python *p, const char *id, struct cella_err *err)
{
        p->context = python_context(p->call, id);
        if (!p->context) {
                err_say(err, CELLA_NOT_FOUND, -ENOENT, "no context '%.60s'", id);
                return err_hint(err, "any other name creates a new one");
        }
        p->sandbox = p->context->home;
        return 0;
}

/* Whether the arguments name the context by its id: it has its sandbox and its runtime already. */
static bool names_context(const struct tool_call *call)
{
        const char *context = tool_text(call, "context");
        return context && !strncmp(context, "ctx_", 4);
}

static int find_sandbox(struct python *p, struct cella_err *err)
{
        const struct tool_call *call = p->call;
        if (names_context(call))
                return find_context_by_id(p, tool_text(call, "context"), err);
        p->own_sandbox = p->code.scope == SCOPE_EXECUTION;
        p->own_context = !tool_text(call, "context");
        struct exec_request request = p->code; /* borrows its contents */
        json_t *limits = python_limits(call, p->own_sandbox);
        request.limits = limits;
        int r = limits ? schema_check(limits_bare_fields(), limits, "limits", err)
                       : err_set(err, CELLA_INTERNAL, -ENOMEM, "limits");
        if (r == 0)
                r = exec_request_sandbox(call->core, &call->caller, &request, &p->sandbox, err);
        json_decref(limits);
        return r;
}

/* ---- files ---- */

static void on_written(void *context, struct bytes *bytes, const struct cella_err *err)
{
        struct python *p = context;
        (void)bytes;
        p->put = NULL;
        free(p->content);
        p->content = NULL;
        if (err) {
                python_tool_fail(p, err);
                return;
        }
        p->file = json_object_iter_next(json_object_get(p->call->arguments, "files"), p->file);
        p->written = true;
        go_on(p);
}

/* Files that were written before the code starts must not look as if the code had changed them. */
static void python_tool_on_tick(void *context)
{
        struct python *p = context;
        struct cella_err err = {0};
        p->tick = NULL;
        p->written = false;
        p->sandbox = target_again(p->call->core, p->sandbox_id);
        /* Without context_id, the arguments name the context by its id. */
        const char *id = p->context_id[0] ? p->context_id : tool_text(p->call, "context");
        if (p->sandbox && p->context && !(p->context = context_find(p->sandbox, id)))
                p->sandbox = NULL;
        if (p->sandbox) {
                go_on(p);
        } else {
                err_say(&err, CELLA_NOT_FOUND, -ENOENT, "the sandbox %s was removed", p->sandbox_id);
                python_tool_fail(p, &err);
        }
}

static int write_file(struct python *p, struct cella_err *err)
{
        const char *path = json_object_iter_key(p->file), *data = NULL;
        char name[80];
        size_t len = 0;
        snprintf(name, sizeof name, "files['%.60s']", path);
        int r = bytes_of_content(json_object_iter_value(p->file), name, &data, &len, &p->content, err);
        return r < 0 ? r : bytes_write(p->sandbox, path, data, len, on_written, p, &p->put, err);
}

/* ---- the context ---- */

static void python_tool_on_ready(struct context *c, const struct cella_err *err, void *waiter)
{
        struct python *p = waiter;
        (void)c;
        p->starting = false;
        if (err)
                python_tool_fail(p, err);
        else
                go_on(p);
}

static struct context *find_by_name(const struct core_sandbox *sb, const char *name)
{
        for (unsigned i = 0; i < SANDBOX_CONTEXTS_MAX; i++)
                if (sb->contexts[i] && !strcmp(sb->contexts[i]->name, name))
                        return sb->contexts[i];
        return NULL;
}

/* A context keeps its interpreter. */
static int check_same_runtime(const struct python *p, struct cella_err *err)
{
        if (!tool_text(p->call, "runtime") || !strcmp(p->context->runtime, p->code.runtime))
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "runtime must be %s, which this context has",
                p->context->runtime);
        return err_hint(err, "another name in 'context' makes a new one");
}

static int start_context(struct python *p, struct cella_err *err)
{
        const char *name = tool_text(p->call, "context");
        int r = 0;
        if (!p->context && name)
                p->context = find_by_name(p->sandbox, name);
        if (p->context)
                r = check_same_runtime(p, err);
        else if ((r = context_new(p->sandbox, p->code.runtime, &p->context, err)) == 0)
                snprintf(p->context->name, sizeof p->context->name, "%s", name ? name : "");
        if (r < 0)
                return r;
        p->context->of_one_run = p->own_context || p->own_sandbox;
        memcpy(p->context_id, p->context->id, sizeof p->context_id);
        if (p->context->state == CONTEXT_IDLE || p->context->state == CONTEXT_RUNNING) {
                go_on(p);
                return 0;
        }
        p->starting = true;
        if ((r = context_start(p->context, python_tool_on_ready, p, err)) < 0)
                p->starting = false;
        return r;
}

/* ---- the run ---- */

static void python_tool_on_output(struct context_run *run, enum cella_stream stream, const char *data,
                                  size_t len, void *caller)
{
        const struct tool_options *o = &((struct python *)caller)->call->options;
        (void)run;
        if (o->events->on_output)
                o->events->on_output(o->context, stream, data, len);
}

static void python_tool_on_violation(struct context_run *run, const struct violation *violation, void *caller)
{
        const struct tool_options *o = &((struct python *)caller)->call->options;
        (void)run;
        if (o->events->on_violation)
                o->events->on_violation(o->context, violation);
}

static void python_tool_finish(struct python *p, const struct context_run *run)
{
        struct tool_call *call = p->call;
        struct tool_result result = {0};
        struct result_run extra = context_run_extra(run);
        if (p->own_context) /* python_tool_leave() removes it */
                extra.context = NULL;
        result_make(call, &run->result, &run->request, run->walls, run->missing, &extra, &result);
        python_tool_leave(p);
        tool_end(call, &result);
        tool_result_done(&result);
}

static void python_tool_on_end(struct context_run *run, void *caller)
{
        struct python *p = caller;
        p->run = NULL;
        python_tool_finish(p, run);
}

static void on_installed(void *who, const struct cella_err *err)
{
        struct python *p = who;
        struct cella_err gone = {0};
        p->install = NULL;
        p->packages_are_there = p->written = true;
        p->context = python_context(p->call, p->context_id);
        if (!err && !p->context)
                err_say(&gone, CELLA_NOT_FOUND, -ENOENT, "the context %s was removed", p->context_id);
        if (err || gone.kind)
                python_tool_fail(p, err ? err : &gone);
        else
                go_on(p);
}

static int start_run(struct python *p, struct cella_err *err)
{
        static const struct context_run_events events = {python_tool_on_output, NULL,
                                                         python_tool_on_violation, python_tool_on_end};
        const struct tool_call *call = p->call;
        json_t *code = json_incref(json_object_get(call->arguments, "code"));
        struct exec_request request;
        json_t *document = json_pack("{s:s, s:o, s:o}", "runtime", p->context->runtime, "code", code,
                                     "limits", python_limits(call, true));
        json_t *network = json_object_get(call->arguments, "network");
        if (document && network) /* it must be that of the sandbox */
                json_object_set(document, "network", network);
        int r = document ? exec_request_from(document, &request, err)
                         : err_set(err, CELLA_INTERNAL, -ENOMEM, "run");
        if (r < 0)
                return r;
        request.scanned = p->code.scanned;
        request.report = TAKE(p->code.report);
        request.direct = p->code.direct;
        request.list_files = request.rich = true;
        memcpy(request.reason, p->code.reason, sizeof request.reason);
        exec_request_take_note(&request, p->context->home);
        r = context_run_new(p->context, &call->caller, &request, false, &events, p, &p->run, err);
        p->call->logged = r < 0; /* by context_run_new() */
        return r;
}

/* Starts the next step. */
static void go_on(struct python *p)
{
        struct cella_err err = {0};
        int r;
        if (p->file)
                r = write_file(p, &err);
        else if (p->written)
                r = tick_wait(p->call->core->loop, python_tool_on_tick, p, &p->tick, &err);
        else if (!p->context_id[0])
                r = start_context(p, &err);
        else if (!p->packages_are_there &&
                 json_array_size(json_object_get(p->call->arguments, "packages")) > 0)
                r = install_begin(p->call, p->context, on_installed, p, &p->install, &err);
        else
                r = start_run(p, &err);
        if (r < 0)
                python_tool_fail(p, &err);
}

/* ---- admission and the image, which come before everything ---- */

static struct exec_request code_request(const struct tool_call *call)
{
        const char *code = tool_text(call, "code"), *session = tool_text(call, "session"),
                   *context = tool_text(call, "context"), *runtime = tool_text(call, "runtime");
        /* A context without a session has one of its own, unless the settings say which sandbox it has. */
        const bool settled = call->core->settings.scope != SCOPE_EXECUTION &&
                             (call->core->settings.scope != SCOPE_SESSION || call->caller.session[0]);
        return (struct exec_request){.runtime = runtime ? runtime : "python",
                                     .code = code,
                                     .code_len = strlen(code),
                                     .allowed_imports = json_object_get(call->arguments, "allowed_imports"),
                                     .session = session || settled ? session : context,
                                     .agent = tool_text(call, "agent"),
                                     /* What is brought along is judged by its presence only. */
                                     .n_files = json_object_size(json_object_get(call->arguments, "files")) +
                                                json_array_size(json_object_get(call->arguments, "packages")),
                                     .scope = -1,
                                     .workspace = -1,
                                     .engine = -1,
                                     .network = json_object_get(call->arguments, "network"),
                                     .mounts = json_object_get(call->arguments, "mounts"),
                                     .isolated = context != NULL,
                                     .lasting = true};
}

static void on_image(struct image_wait *wait, const struct imager_event *end, const struct cella_err *err,
                     void *context);

/* Finds the sandbox when the image of the runtime is there.  pulled: it was pulled for this call. */
static void take_sandbox(struct python *p, bool pulled, struct cella_err *err)
{
        static const struct image_events events = {.on_end = on_image};
        const struct tool_call *call = p->call;
        int r = pulled || names_context(call)
                        ? 1
                        : exec_request_image(call->core, &call->caller, &p->code, &events, p, &p->image, err);
        if (r == 0)
                return;
        if (r < 0 || find_sandbox(p, err) < 0) {
                python_tool_fail(p, err);
                return;
        }
        memcpy(p->sandbox_id, p->sandbox->id, sizeof p->sandbox_id);
        p->file = json_object_iter(json_object_get(p->call->arguments, "files"));
        go_on(p);
}

static void on_image(struct image_wait *wait, const struct imager_event *end, const struct cella_err *err,
                     void *context)
{
        struct python *p = context;
        struct cella_err problem = {0};
        (void)wait, (void)end;
        p->image = NULL;
        if (err)
                python_tool_fail(p, err);
        else
                take_sandbox(p, true, &problem);
}

/* r: negative if the code was refused. */
static void on_admission(void *context, int r, struct cella_err *err)
{
        struct python *p = context;
        if (r < 0)
                python_tool_fail(p, err);
        else
                take_sandbox(p, false, err);
}

/* The code is scanned as what will run it: a context that is named by its id may have another language. */
static int take_runtime(struct python *p, struct cella_err *err)
{
        if (!names_context(p->call) || tool_text(p->call, "runtime"))
                return 0;
        int r = find_context_by_id(p, tool_text(p->call, "context"), err);
        char *runtime = r < 0 ? NULL : strdup(p->context->runtime);
        if (r == 0 && (r = exec_request_own(&p->code, runtime)) < 0)
                err_set(err, CELLA_INTERNAL, r, "execute_python");
        if (r == 0)
                p->code.runtime = runtime;
        p->context = NULL; /* it may be gone after the scan */
        p->sandbox = NULL;
        return r;
}

void python_tool_begin(struct tool_call *call)
{
        struct cella_err err = {0};
        struct python *p = calloc(1, sizeof *p);
        if (!p) {
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "execute_python");
                tool_fail(call, &err);
                return;
        }
        p->call = call;
        call->data = p;
        call->cancel = python_tool_cancel;
        p->code = code_request(call);
        p->admission = (struct admission){.core = call->core,
                                          .caller = &call->caller,
                                          .request = &p->code,
                                          .target = names_context(call) ? ADMIT_TO_SANDBOX : ADMIT_TO_ANY,
                                          .decided = on_admission,
                                          .context = p};
        int r = take_runtime(p, &err);
        if (r == 0)
                r = admission_begin(&p->admission, &err);
        if (r != 0)
                on_admission(p, r, &err);
}
