/* front/rest/exec.c -- running code: one answer at the end, or events as they come. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/execution/execution.h"
#include "core/image/images.h"
#include "core/request/scan_job.h"
#include "engine/result.h"
#include "front/rest/rest.h"
#include "front/sse.h"

struct running {
        struct call *call;
        struct execution *execution;
        struct sse sse;
        bool streams; /* its client wants events */
        bool begun;   /* the first has gone out */
        bool detach, base64;
};

static void let_go(struct running *r)
{
        execution_release(r->execution);
        free(r);
}

static void on_gone(struct http_request *request, void *context)
{
        struct running *r = context;
        struct execution *ex = r->execution;
        (void)request;
        if (r->begun)
                sse_forget(&r->sse);
        execution_ref(ex);
        bool cancel = !r->detach;
        let_go(r);
        if (cancel)
                execution_cancel(ex);
        execution_unref(ex);
}

static void on_room(struct http_request *request, void *context)
{
        struct running *r = context;
        (void)request;
        execution_go_on(r->execution);
}

static void on_started(struct execution *ex, int terminal, void *context)
{
        struct running *r = context;
        (void)terminal;
        r->begun = true;
        sse_begin(&r->sse, r->call, r->base64);
        http_on_room(r->call->request, on_room, r);
        sse_event(&r->sse, "start",
                  json_pack("{s:s, s:s, s:i}", "id", ex->id, "sandbox", ex->sandbox_id, "pid", ex->pid));
        execution_go_on(ex);
}

static void on_output(struct execution *ex, enum cella_stream stream, const char *data, size_t len,
                      void *context)
{
        struct running *r = context;
        if (!r->begun) /* it is faster than its own announcement: init sends that first, but over another way
                        */
                on_started(ex, -1, r);
        sse_output(&r->sse, stream, data, len);
        if (http_stream_room(r->call->request) == 0)
                execution_wait(ex);
}

static void on_violation(struct execution *ex, const struct violation *violation, void *context)
{
        struct running *r = context;
        if (!r->begun)
                on_started(ex, -1, r);
        sse_event(&r->sse, "violation", violation_to_json(violation));
}

static void stream_end(struct running *r)
{
        struct execution *ex = r->execution;
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

static void on_end(struct execution *ex, void *context)
{
        struct running *r = context;
        size_t len;
        http_on_gone(r->call->request, NULL, NULL);
        http_on_room(r->call->request, NULL, NULL);
        if (!r->begun && r->streams && !ex->failure.kind)
                on_started(ex, -1, r);
        if (r->begun) {
                stream_end(r);
        } else if (ex->failure.kind) {
                r->call->logged = true; /* by executions_settle() */
                api_reply_err(r->call, &ex->failure);
        } else {
                char *text = execution_result_text(ex, r->base64 ? RESULT_BASE64 : 0, &len);
                if (text)
                        api_reply_text(r->call, 200, text, len);
        }
        let_go(r);
}

static const struct execution_events plain_events = {.on_end = on_end};
static const struct execution_events stream_events = {on_started, on_output, on_violation, on_end};

/* Its answer is that it began; who wants to know more asks /v1/executions. */
static void reply_detached(struct call *call, const struct execution *ex)
{
        api_reply(call, 202,
                  json_pack("{s:s, s:s, s:s}", "id", ex->id, "sandbox", ex->sandbox_id, "status", "running"));
}

/* Puts the request into the log, and frees what it holds. */
static void refuse(struct call *call, struct exec_request *request, const struct cella_err *err)
{
        api_record_refusal(call, request, err);
        exec_request_done(request);
}

static void run(struct call *call, struct box_sandbox *sb, struct exec_request *request)
{
        struct cella_limits limits;
        struct cella_err err = {0};
        struct execution *ex = NULL;
        struct running *r = calloc(1, sizeof *r);
        const bool events = api_wants_events(call), forget = request->detach && !events;
        const struct running running = {
                .call = call, .streams = events, .detach = request->detach, .base64 = request->base64};
        int e = r ? exec_request_limits(request, sb, &limits, &err)
                  : err_set(&err, CELLA_INTERNAL, -ENOMEM, "execution");
        if (e == 0)
                e = execution_new(call->box, &call->caller, sb, request, &limits,
                                  events ? EXECUTION_STREAMED : EXECUTION_PLAIN,
                                  forget   ? NULL
                                  : events ? &stream_events
                                           : &plain_events,
                                  r, &ex, &err);
        else
                refuse(call, request, &err);
        if (e < 0 || !r || !ex) {
                free(r);
                if (sb->one_shot)
                        sandbox_remove(sb);
                api_reply_err(call, &err);
                return;
        }
        *r = running;
        r->execution = ex;
        ex->waits = events; /* until its start was announced */
        if (forget)
                reply_detached(call, ex);
        else
                http_on_gone(call->request, on_gone, r);
        execution_start(ex);
        if (forget)
                let_go(r);
}

/* Its image is there, if it has one.  Takes what the request holds. */
static void run_in_own(struct call *call, struct exec_request *request)
{
        struct box_sandbox *sb = NULL;
        struct cella_err err = {0};
        if (exec_request_sandbox(call->box, &call->caller, request, &sb, &err) < 0 || !sb) {
                refuse(call, request, &err);
                api_reply_err(call, &err);
                return;
        }
        request->list_files |= sb->one_shot;
        run(call, sb, request);
}

/* A request that waits for a scan of its code, or for its image. */
struct waiting_run {
        struct call *call;
        struct exec_request request;
        struct scan_job *scan;
        struct image_wait *wait;
};

static void on_image(struct image_wait *wait, const struct imager_event *end, const struct cella_err *err,
                     void *context)
{
        struct waiting_run *w = context;
        (void)wait, (void)end;
        http_on_gone(w->call->request, NULL, NULL);
        if (err) {
                refuse(w->call, &w->request, err);
                api_reply_err(w->call, err);
        } else {
                run_in_own(w->call, &w->request);
        }
        free(w);
}

static void on_gone_meanwhile(struct http_request *request, void *context)
{
        struct waiting_run *w = context;
        (void)request;
        if (w->scan)
                scan_job_cancel(w->scan);
        else
                image_wait_cancel(w->wait);
        exec_request_done(&w->request);
        free(w);
}

/* r: whether it was admitted. */
static void run_admitted(struct waiting_run *w, int r, struct cella_err *err)
{
        static const struct image_events events = {.on_end = on_image};
        struct call *call = w->call;
        if (r == 0)
                r = exec_request_image(call->box, &call->caller, &w->request, &events, w, &w->wait, err);
        if (r == 0) {
                http_on_gone(call->request, on_gone_meanwhile, w);
                return;
        }
        if (r < 0) {
                refuse(call, &w->request, err);
                api_reply_err(call, err);
        } else {
                run_in_own(call, &w->request);
        }
        free(w);
}

static void on_scanned(void *context, int r, const struct scan_report *report)
{
        struct waiting_run *w = context;
        struct cella_err err = {0};
        http_on_gone(w->call->request, NULL, NULL);
        w->scan = NULL;
        r = exec_request_decide(w->call->box, &w->request, r, report, &err);
        if (r == 0)
                r = exec_request_choose(w->call->box, &w->call->caller, &w->request, &err);
        run_admitted(w, r, &err);
}

void rest_exec(struct call *call, json_t *body)
{
        struct waiting_run *w = calloc(1, sizeof *w);
        struct cella_err err = {0};
        int r = w ? exec_request_from(body, &w->request, &err)
                  : (json_decref(body), err_set(&err, CELLA_INTERNAL, -ENOMEM, "execution"));
        if (r < 0 || !w) {
                free(w);
                api_reply_err(call, &err);
                return;
        }
        w->call = call;
        r = exec_request_admit(call->box, &call->caller, &w->request, true, &err);
        if (r > 0) {
                r = scan_job_new(call->box, &w->request, SCAN_TIME_MS, on_scanned, w, &w->scan);
                if (r == 0) {
                        http_on_gone(call->request, on_gone_meanwhile, w);
                        return;
                }
                err_set(&err, CELLA_INTERNAL, r, "scanner");
        }
        run_admitted(w, r, &err);
}

void rest_sandbox_exec(struct call *call, json_t *body)
{
        struct exec_request request;
        struct cella_err err = {0};
        struct box_sandbox *sb = api_sandbox(call);
        if (!sb) {
                json_decref(body);
                return;
        }
        int r = exec_request_from(body, &request, &err);
        if (r == 0 && (r = exec_request_admit(call->box, &call->caller, &request, false, &err)) < 0)
                refuse(call, &request, &err);
        if (r < 0)
                api_reply_err(call, &err);
        else
                run(call, sb, &request);
}
