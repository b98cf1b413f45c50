/* core/execution/scan.c -- the scan of an execution's code.
 *
 * A scan for advice runs while the code runs, and only the answer waits for it.  A scan that may refuse the
 * code, and takes too long for the event loop (request_scan.c), ends before the code begins. */
#include <errno.h>

#include "base/err.h"
#include "core/execution/internal.h"
#include "core/request/scan_job.h"

static void on_decision(void *context, int r, const struct scan_report *report)
{
        struct execution *ex = context;
        struct cella_err err = {0};
        ex->scan = NULL;
        ex->request.scan_first = false;
        if (exec_request_decide(ex->core, &ex->request, r, report, &err) < 0)
                execution_fail(ex, &err);
        else if (ex->phase == EXECUTION_ATTACHED)
                execution_begin(ex);
}

void execution_scan_first(struct execution *ex)
{
        int r = scan_job_new(ex->core, &ex->request, SCAN_TIME_MS, on_decision, ex, &ex->scan);
        if (r < 0)
                on_decision(ex, r, NULL);
}

static void on_advice(void *context, int r, const struct scan_report *report)
{
        struct execution *ex = context;
        ex->scan = NULL;
        if (r == 0)
                exec_request_keep_report(&ex->request, report);
        execution_counted(&ex->observer); /* if its end waits for this */
}

void execution_scan_beside(struct execution *ex)
{
        if (ex->kind == EXECUTION_BACKGROUND || ex->kind == EXECUTION_TERMINAL || ex->scan)
                return; /* its result is not reported */
        if (exec_request_warn(ex->core, &ex->request))
                scan_job_new(ex->core, &ex->request, SCAN_ADVICE_MS, on_advice, ex, &ex->scan);
}
