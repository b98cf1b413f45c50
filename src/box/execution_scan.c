/* box/execution_scan.c -- the scanner's word on an execution.
 *
 * Advice costs no time: short code is looked at when it has been released, long code in another thread, and
 * only the answer waits for that.  What may be refused, and is too long to be looked at before
 * (request_scan.c), is not begun until that thread is done. */
#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "box/execution_parts.h"

struct job {
        uv_work_t work;
        struct execution *ex;
        int r;
        struct scan_report report;
};

static void look(uv_work_t *work)
{
        struct job *job = work->data;
        job->r = exec_request_scan(&job->ex->request, &job->report);
}

static void decide(struct execution *ex, int r, const struct scan_report *report)
{
        struct cella_err err = {0};
        if (r < 0)
                err_set(&err, CELLA_INTERNAL, r, "scanner");
        else
                r = exec_request_refuse(ex->box, &ex->request, report, &err);
        ex->request.scan_first = false;
        if (r < 0)
                execution_fail(ex, &err);
        else if (ex->attached)
                execution_begin(ex);
}

static void on_looked(uv_work_t *work, int status)
{
        struct job *job = work->data;
        struct execution *ex = job->ex;
        const int r = status < 0 ? status : job->r;
        ex->scanning = false;
        if (!ex->done && r == 0)
                exec_request_keep_report(&ex->request, &job->report);
        if (!ex->done && ex->request.scan_first)
                decide(ex, r, &job->report);
        else
                execution_counted(&ex->observer); /* if its end waits for this */
        free(job);
        execution_unref(ex);
}

void execution_scan(struct execution *ex)
{
        struct job *job = calloc(1, sizeof *job);
        int r = job ? 0 : -ENOMEM;
        if (job) {
                job->ex = ex;
                job->work.data = job;
                r = uv_queue_work(ex->box->loop, &job->work, look, on_looked);
        }
        if (r == 0) {
                ex->scanning = true;
                execution_ref(ex);
                return;
        }
        free(job);
        if (ex->request.scan_first)
                decide(ex, r, NULL);
}

void execution_scan_beside(struct execution *ex)
{
        if (ex->kind == EXECUTION_BACKGROUND || ex->kind == EXECUTION_TERMINAL || ex->scanning)
                return; /* nobody would be told */
        if (exec_request_warn(ex->box, &ex->request))
                execution_scan(ex);
}
