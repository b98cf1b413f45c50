/* front/rest/exec.c -- POST /v1/exec and /v1/sandboxes/{id}/exec: one answer at the end, or events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/execution/submit.h"
#include "engine/result.h"
#include "front/rest/rest.h"
#include "front/sse.h"

/* One request, until its execution has ended or was refused. */
struct running {
        struct submission submission;
        struct call *call;
        struct sse sse;
        bool streams; /* the client wants events */
        bool begun;   /* the first event was sent */
        bool detach, base64;
};

static void rest_exec_on_gone(struct http_request *request, void *context)
{
        struct running *r = context;
        (void)request;
        if (r->begun)
                sse_forget(&r->sse);
        if (r->detach)
                submission_detach(&r->submission);
        else
                submission_cancel(&r->submission);
        free(r);
}

static void rest_exec_on_room(struct http_request *request, void *context)
{
        struct running *r = context;
        (void)request;
        execution_continue(r->submission.execution);
}

static void rest_exec_on_started(struct execution *ex, int terminal, void *context)
{
        struct running *r = context;
        (void)terminal;
        r->begun = true;
        sse_begin(&r->sse, r->call, r->base64);
        http_on_room(r->call->request, rest_exec_on_room, r);
        sse_event(&r->sse, "start",
                  json_pack("{s:s, s:s, s:i}", "id", ex->id, "sandbox", ex->sandbox_id, "pid", ex->pid));
        execution_continue(ex);
}

static void rest_exec_on_output(struct execution *ex, enum cella_stream stream, const char *data, size_t len,
                                void *context)
{
        struct running *r = context;
        if (!r->begun) /* init sends the start first, but over another descriptor */
                rest_exec_on_started(ex, -1, r);
        sse_output(&r->sse, stream, data, len);
        if (http_stream_room(r->call->request) == 0)
                execution_wait(ex);
}

static void rest_exec_on_violation(struct execution *ex, const struct violation *violation, void *context)
{
        struct running *r = context;
        if (!r->begun)
                rest_exec_on_started(ex, -1, r);
        sse_event(&r->sse, "violation", violation_to_json(violation));
}

static void on_result(struct execution *ex, const char *json, size_t len, void *context)
{
        struct running *r = context;
        if (!r->begun)
                rest_exec_on_started(ex, -1, r);
        sse_flush(&r->sse);
        sse_event_text(&r->sse, "result", json, len);
}

static void rest_exec_stream_end(struct running *r)
{
        const struct execution *ex = r->submission.execution;
        size_t len;
        if (ex->failure.kind) {
                sse_event(&r->sse, "error", api_error(r->call, &ex->failure));
        } else {
                char *text = execution_result_text(ex, RESULT_WITHOUT_OUTPUT, &len);
                sse_flush(&r->sse);
                if (text)
                        sse_event_text(&r->sse, "exit", text, len);
                free(text);
        }
        sse_end(&r->sse);
}

static void rest_exec_on_end(struct execution *ex, void *context)
{
        struct running *r = context;
        size_t len;
        http_on_gone(r->call->request, NULL, NULL);
        http_on_room(r->call->request, NULL, NULL);
        if (!r->begun && r->streams && !ex->failure.kind)
                rest_exec_on_started(ex, -1, r);
        if (r->begun) {
                rest_exec_stream_end(r);
        } else if (ex->failure.kind) {
                r->call->logged = true; /* by executions_settle() */
                api_reply_err(r->call, &ex->failure);
        } else {
                char *text = execution_result_text(ex, r->base64 ? RESULT_BASE64 : 0, &len);
                if (text)
                        api_reply_text(r->call, 200, text, len);
        }
        execution_release(ex);
        free(r);
}

static const struct execution_events plain_events = {.on_end = rest_exec_on_end};
static const struct execution_events stream_events = {rest_exec_on_started, rest_exec_on_output,
                                                      rest_exec_on_violation, rest_exec_on_end, on_result};

static void on_accepted(struct submission *submission, struct execution *ex)
{
        struct running *r = list_entry(submission, struct running, submission);
        struct call *call = r->call;
        ex->waits = r->streams; /* until its start was announced */
        if (!r->detach || r->streams)
                return;
        /* The client does not wait for a result: GET /v1/executions returns it. */
        http_on_gone(call->request, NULL, NULL);
        api_reply(call, 202,
                  json_pack("{s:s, s:s, s:s}", "id", ex->id, "sandbox", ex->sandbox_id, "status", "running"));
        execution_release(ex);
        free(r);
}

static void rest_exec_on_refused(struct submission *submission, const struct cella_err *err)
{
        struct running *r = list_entry(submission, struct running, submission);
        struct call *call = r->call;
        http_on_gone(call->request, NULL, NULL);
        free(r);
        api_reply_refusal(call, err);
}

/* sandbox: NULL if the request selects it. */
static void rest_exec_run(struct call *call, struct core_sandbox *sandbox, json_t *body)
{
        static const struct submission_events events = {on_accepted, rest_exec_on_refused};
        struct cella_err err = {0};
        struct running *r = calloc(1, sizeof *r);
        if (!r) {
                json_decref(body);
                err_set(&err, CELLA_INTERNAL, -ENOMEM, "execution");
                api_reply_err(call, &err);
                return;
        }
        struct submission *s = &r->submission;
        r->call = call;
        r->streams = api_wants_events(call);
        *s = (struct submission){.core = call->core,
                                 .caller = &call->caller,
                                 .sandbox = sandbox,
                                 .kind = r->streams ? EXECUTION_STREAMED : EXECUTION_PLAIN,
                                 .events = &events,
                                 .execution_events = r->streams ? &stream_events : &plain_events,
                                 .context = r};
        if (submission_read(s, body, &err) < 0) {
                free(r);
                api_reply_refusal(call, &err);
                return;
        }
        r->detach = s->request.detach;
        r->base64 = s->request.base64;
        s->request.list_files |= !sandbox && exec_request_scope(call->core, &s->request) == SCOPE_EXECUTION;
        http_on_gone(call->request, rest_exec_on_gone, r);
        submission_start(s);
}

void rest_exec(struct call *call, json_t *body)
{
        rest_exec_run(call, NULL, body);
}

void rest_sandbox_exec(struct call *call, json_t *body)
{
        struct core_sandbox *sb = api_sandbox(call);
        if (sb)
                rest_exec_run(call, sb, body);
        else
                json_decref(body);
}
