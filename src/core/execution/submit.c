#include "core/execution/submit.h"

#include "base/err.h"
#include "core/image/images.h"
#include "core/record.h"

int submission_read(struct submission *s, json_t *document, struct cella_err *err)
{
        int r = exec_request_from(document, &s->request, err);
        if (r < 0)
                refusal_record(s->core, s->caller, NULL, err);
        return r;
}

/* The submission may be freed when this returns. */
static void submission_refuse(struct submission *s, const struct cella_err *err)
{
        /* execution_new() takes the request also on failure. */
        refusal_record(s->core, s->caller, s->request.document ? &s->request : NULL, err);
        exec_request_done(&s->request);
        s->events->on_refused(s, err);
}

static int submission_find_sandbox(const struct submission *s, struct core_sandbox **ret,
                                   struct cella_err *err)
{
        struct exec_request request = s->request; /* borrows its contents */
        if (s->sandbox_ignores_timeout)
                request.timeout_ms = 0;
        return exec_request_sandbox(s->core, s->caller, &request, ret, err);
}

static void submission_execute(struct submission *s)
{
        struct core_sandbox *sb = s->sandbox;
        struct cella_limits limits;
        struct cella_err err = {0};
        int r = sb ? 0 : submission_find_sandbox(s, &sb, &err);
        if (r == 0)
                exec_request_take_note(&s->request, sb);
        if (r == 0)
                r = exec_request_limits(&s->request, sb, &limits, &err);
        if (r == 0)
                r = execution_new(s->core, s->caller, sb, &s->request, &limits, s->kind, s->execution_events,
                                  s->context, &s->execution, &err);
        if (r < 0) {
                if (sb && sb->one_shot)
                        sandbox_remove(sb);
                submission_refuse(s, &err);
                return;
        }
        struct execution *ex = s->execution;
        execution_ref(ex);
        if (s->events->on_accepted)
                s->events->on_accepted(s, ex);
        execution_start(ex);
        execution_unref(ex);
}

static void submission_on_image(struct image_wait *wait, const struct imager_event *end,
                                const struct cella_err *err, void *context)
{
        struct submission *s = context;
        (void)wait, (void)end;
        s->image = NULL;
        if (err)
                submission_refuse(s, err);
        else
                submission_execute(s);
}

/* admitted: 0, or -errno with the reason in *err. */
static void submission_continue(struct submission *s, int admitted, struct cella_err *err)
{
        static const struct image_events events = {.on_end = submission_on_image};
        int r = admitted < 0 ? admitted : 1;
        if (r > 0 && !s->sandbox)
                r = exec_request_image(s->core, s->caller, &s->request, &events, s, &s->image, err);
        if (r < 0)
                submission_refuse(s, err);
        else if (r > 0)
                submission_execute(s);
}

static void submission_on_admission(void *context, int r, struct cella_err *err)
{
        submission_continue(context, r, err);
}

void submission_start(struct submission *s)
{
        struct cella_err err = {0};
        s->admission = (struct admission){.core = s->core,
                                          .caller = s->caller,
                                          .request = &s->request,
                                          .target = s->sandbox ? ADMIT_TO_SANDBOX : ADMIT_TO_ANY,
                                          .scan_during_start = true,
                                          .decided = submission_on_admission,
                                          .context = s};
        int r = admission_begin(&s->admission, &err);
        if (r != 0)
                submission_continue(s, r, &err);
}

static void submission_leave(struct submission *s, bool cancel)
{
        struct execution *ex = s->execution;
        if (ex) {
                execution_ref(ex);
                execution_release(ex);
                if (cancel)
                        execution_cancel(ex);
                execution_unref(ex);
                return;
        }
        admission_cancel(&s->admission);
        if (s->image)
                image_wait_cancel(s->image);
        exec_request_done(&s->request);
}

void submission_cancel(struct submission *s)
{
        submission_leave(s, true);
}

void submission_detach(struct submission *s)
{
        submission_leave(s, false);
}
