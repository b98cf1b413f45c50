/* front/rest/contexts.c -- contexts: create, restart, interrupt, remove; and code that runs in them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/context/context.h"
#include "core/request/admission.h"
#include "core/request/synonyms.h"
#include "engine/result.h"
#include "front/rest/rest.h"
#include "front/sse.h"

#define CODE_MAX (4 * 1024 * 1024 - 4096)

static const char *const encoding_words[] = {"utf-8", "base64", NULL};
static const char *const output_words[] = {"drain", "kill", NULL};

static int check_runtime(const json_t *value, const char *path, struct cella_err *err)
{
        return driver_knows(json_string_value(value))
                       ? 0
                       : err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                 "%s must be python3, node or bash, or a version of one (python3.12)", path);
}

const struct field *context_fields(void)
{
        static const struct field fields[] = {{.name = "runtime",
                                               .type = FIELD_STRING,
                                               .flags = FIELD_NO_NUL,
                                               .min = 1,
                                               .max = 64,
                                               .help = "python3, node or bash",
                                               .check = check_runtime},
                                              SYNONYM_LANGUAGE_FIELD,
                                              {0}};
        return fields;
}

/* The interpreter keeps the environment that it was started with, and a later run could read the secret. */
static int refuse_secrets(const json_t *value, const char *path, struct cella_err *err)
{
        if (json_is_object(value) && json_object_size(value) == 0)
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -ENOTSUP, "%s cannot be given to a run in a context", path);
        return err_hint(err, "use a separate execution: POST /v1/sandboxes/{id}/exec");
}

const struct field *context_run_fields(void)
{
        static struct field fields[] = {
                {.name = "code",
                 .type = FIELD_STRING,
                 .flags = FIELD_REQUIRED | FIELD_NO_NUL,
                 .max = CODE_MAX,
                 .help = "the snippet to run"},
                {.name = "limits",
                 .type = FIELD_OBJECT,
                 .help = "limits of an execution, not above those of the sandbox"},
                {.name = "timeout_ms",
                 .type = FIELD_INTEGER,
                 .min = 1,
                 .max = 7 * INT64_C(86400000),
                 .help = "short for limits.timeout_ms"},
                SYNONYM_TIMEOUT_FIELD,
                {.name = "encoding",
                 .type = FIELD_WORD,
                 .words = encoding_words,
                 .help = "encoding of stdout and stderr in the answer"},
                {.name = "on_output_limit",
                 .type = FIELD_WORD,
                 .words = output_words,
                 .help = "output beyond limits.output_bytes: drain discards it, kill interrupts the run"},
                {.name = "detach",
                 .type = FIELD_BOOLEAN,
                 .help = "the run continues when the client disconnects"},
                {.name = "list_files",
                 .type = FIELD_BOOLEAN,
                 .help = "list the changed files of the workspace in the result"},
                {.name = "rich",
                 .type = FIELD_BOOLEAN,
                 .help = "PNG, JPEG and SVG files that the code writes are results; implies list_files"},
                {.name = "secrets",
                 .type = FIELD_ANY,
                 .check = refuse_secrets,
                 .help = "refused: a context cannot have variables for one run"},
                {0}};
        fields[1].fields = limits_bare_fields();
        return fields;
}

/* Returns the context in the path; if there is none, answers 404 and returns NULL. */
static struct context *rest_contexts_find(struct call *call)
{
        struct core_sandbox *sb = api_sandbox(call);
        struct context *c = sb ? context_find(sb, http_param(call->request, 1)) : NULL;
        struct cella_err err = {0};
        if (sb && !c) {
                err_say(&err, CELLA_NOT_FOUND, -ENOENT, "no context '%.40s' in this sandbox",
                        http_param(call->request, 1));
                api_reply_err(call, &err);
        }
        return c;
}

/* ---- starting and restarting ---- */

struct starting {
        struct call *call;
        struct context *context;
        bool made; /* made by this call: removed if it does not start */
};

static void rest_contexts_on_ready(struct context *c, const struct cella_err *err, void *waiter)
{
        struct starting *s = waiter;
        struct call *call = s->call;
        bool made = s->made;
        http_on_gone(call->request, NULL, NULL);
        free(s);
        if (!err) {
                api_reply(call, made ? 201 : 200, context_to_json(c));
                return;
        }
        api_reply_err(call, err);
        if (made && c->home)
                context_remove(c);
}

static void start_gone(struct http_request *request, void *context)
{
        struct starting *s = context;
        struct context *c = s->context;
        (void)request;
        context_let_be(c);
        if (s->made)
                context_remove(c); /* no client knows its id */
        free(s);
}

static void rest_contexts_start(struct call *call, struct context *c, bool made)
{
        struct cella_err err = {0};
        struct starting *s = calloc(1, sizeof *s);
        if (s) {
                *s = (struct starting){call, c, made};
                http_on_gone(call->request, start_gone, s);
                if (context_start(c, rest_contexts_on_ready, s, &err) == 0)
                        return;
                http_on_gone(call->request, NULL, NULL);
        } else {
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "context");
        }
        free(s);
        if (made)
                context_remove(c);
        api_reply_err(call, &err);
}

/* The table cannot require `runtime`, because `language` may stand for it. */
static int context_language(json_t *body, struct cella_err *err)
{
        const char *given = json_object_get(body, "language") ? "language" : "runtime";
        int r = synonyms_apply(body, err);
        const json_t *runtime = json_object_get(body, "runtime");
        if (r < 0)
                return r;
        return runtime ? check_runtime(runtime, given, err)
                       : err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "runtime is required");
}

void rest_context_create(struct call *call, json_t *body)
{
        struct core_sandbox *sb = api_sandbox(call);
        struct context *c = NULL;
        struct cella_err err = {0};
        int r = sb ? context_language(body, &err) : 0;
        const char *runtime =
                runtime_standard(call->core, json_string_value(json_object_get(body, "runtime")));
        if (sb && r == 0)
                r = context_new(sb, runtime, &c, &err);
        json_decref(body);
        if (!sb)
                return;
        if (r < 0)
                api_reply_err(call, &err);
        else
                rest_contexts_start(call, c, true);
}

void rest_context_restart(struct call *call, json_t *body)
{
        struct context *c = rest_contexts_find(call);
        (void)body;
        if (c)
                rest_contexts_start(call, c, false);
}

/* ---- reading, interrupting, removing ---- */

void rest_context_list(struct call *call, json_t *body)
{
        struct core_sandbox *sb = api_sandbox(call);
        (void)body;
        if (!sb)
                return;
        json_t *list = json_array();
        for (unsigned i = 0; i < SANDBOX_CONTEXTS_MAX; i++)
                if (sb->contexts[i])
                        json_array_append_new(list, context_to_json(sb->contexts[i]));
        api_reply(call, 200, json_pack("{s:o}", "contexts", list));
}

void rest_context_get(struct call *call, json_t *body)
{
        struct context *c = rest_contexts_find(call);
        (void)body;
        if (c)
                api_reply(call, 200, context_to_json(c));
}

void rest_context_interrupt(struct call *call, json_t *body)
{
        struct context *c = rest_contexts_find(call);
        (void)body;
        if (!c)
                return;
        context_interrupt(c);
        api_reply(call, 200, context_to_json(c));
}

void rest_context_delete(struct call *call, json_t *body)
{
        struct context *c = rest_contexts_find(call);
        (void)body;
        if (!c)
                return;
        context_remove(c);
        api_reply_nothing(call);
}

/* ---- running ---- */

struct running {
        struct call *call;
        struct exec_request request; /* until the run takes it */
        struct admission admission;
        struct context_run *run; /* NULL: not started yet */
        struct sse sse;
        bool streams, detach, base64;
};

static void run_gone(struct http_request *request, void *context)
{
        struct running *r = context;
        (void)request;
        if (r->run) {
                if (r->streams)
                        sse_forget(&r->sse);
                context_run_release(r->run);
                if (!r->detach)
                        context_run_cancel(r->run);
        }
        admission_cancel(&r->admission);
        exec_request_done(&r->request);
        free(r);
}

static void run_room(struct http_request *request, void *context)
{
        struct running *r = context;
        (void)request;
        context_run_wait(r->run, false);
}

static void wait_for_room(struct running *r)
{
        if (http_stream_room(r->call->request) == 0)
                context_run_wait(r->run, true);
}

static void run_output(struct context_run *run, enum cella_stream stream, const char *data, size_t len,
                       void *caller)
{
        struct running *r = caller;
        (void)run;
        sse_output(&r->sse, stream, data, len);
        wait_for_room(r);
}

static void run_result(struct context_run *run, const char *json, size_t len, void *caller)
{
        struct running *r = caller;
        (void)run;
        sse_event_text(&r->sse, "result", json, len);
        wait_for_room(r);
}

static void run_violation(struct context_run *run, const struct violation *violation, void *caller)
{
        struct running *r = caller;
        (void)run;
        sse_event(&r->sse, "violation", violation_to_json(violation));
}

static void run_end(struct context_run *run, void *caller)
{
        struct running *r = caller;
        struct call *call = r->call;
        unsigned flags = r->streams ? RESULT_WITHOUT_OUTPUT : r->base64 ? RESULT_BASE64 : 0;
        size_t len;
        char *text = context_run_text(run, flags, &len);
        http_on_gone(call->request, NULL, NULL);
        http_on_room(call->request, NULL, NULL);
        if (r->streams) {
                sse_flush(&r->sse);
                if (text)
                        sse_event_text(&r->sse, "exit", text, len);
                free(text);
                sse_end(&r->sse);
        } else if (text) {
                api_reply_text(call, 200, text, len);
        } else {
                struct cella_err err = {0};
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "result");
                api_reply_err(call, &err);
        }
        free(r);
}

static const struct context_run_events plain_events = {.on_end = run_end};
static const struct context_run_events stream_events = {run_output, run_result, run_violation, run_end};

/* Frees r if no event will come. */
static void rest_contexts_run(struct running *r, struct context *c)
{
        struct call *call = r->call;
        struct cella_err err = {0};
        const bool forget = r->detach && !r->streams;
        int e = context_run_new(c, &call->caller, &r->request, r->streams,
                                forget       ? NULL
                                : r->streams ? &stream_events
                                             : &plain_events,
                                r, &r->run, &err);
        if (e < 0 || !r->run) {
                free(r);
                api_reply_refusal(call, &err);
                return;
        }
        const struct context_run *run = r->run;
        if (forget) {
                free(r);
                api_reply(call, 202,
                          json_pack("{s:s, s:s, s:s, s:s}", "id", run->id, "sandbox", run->sandbox_id,
                                    "context", run->context_id, "status", "running"));
                return;
        }
        if (r->streams) {
                sse_begin(&r->sse, call, r->base64);
                http_on_room(call->request, run_room, r);
                sse_event(&r->sse, "start",
                          json_pack("{s:s, s:s, s:s, s:i}", "id", run->id, "sandbox", run->sandbox_id,
                                    "context", run->context_id, "pid", run->pid));
        }
        http_on_gone(call->request, run_gone, r);
}

/* admitted: negative if the code was refused. */
static void run_admitted(struct running *r, int admitted, struct cella_err *err)
{
        struct call *call = r->call;
        struct context *c = admitted < 0 ? NULL : rest_contexts_find(call); /* it may be gone after a scan */
        if (c) {
                rest_contexts_run(r, c);
                return;
        }
        if (admitted < 0) {
                api_record_refusal(call, &r->request, err);
                api_reply_err(call, err);
        }
        exec_request_done(&r->request);
        free(r);
}

static void on_admission(void *context, int r, struct cella_err *err)
{
        struct running *running = context;
        http_on_gone(running->call->request, NULL, NULL);
        run_admitted(running, r, err);
}

void rest_context_run(struct call *call, json_t *body)
{
        const struct context *c = rest_contexts_find(call);
        struct running *r = c ? calloc(1, sizeof *r) : NULL;
        struct cella_err err = {0};
        if (!r) {
                json_decref(body);
                if (c) {
                        err_set(&err, CELLA_INTERNAL, -ENOMEM, "run");
                        api_reply_err(call, &err);
                }
                return;
        }
        json_object_set_new(body, "runtime", json_string(c->runtime));
        int e = exec_request_from(body, &r->request, &err);
        if (e < 0) {
                free(r);
                api_reply_err(call, &err);
                return;
        }
        r->call = call;
        r->streams = api_wants_events(call);
        r->detach = r->request.detach;
        r->base64 = r->request.base64;
        r->admission = (struct admission){.core = call->core,
                                          .caller = &call->caller,
                                          .request = &r->request,
                                          .target = ADMIT_TO_CONTEXT,
                                          .decided = on_admission,
                                          .context = r};
        e = admission_begin(&r->admission, &err);
        if (e == 0)
                http_on_gone(call->request, run_gone, r);
        else
                run_admitted(r, e, &err);
}
