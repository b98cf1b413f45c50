/* core/request/scan_job.h -- scans code in a worker thread, so that the event loop never waits for the
 * parser. */
#pragma once
#include "core/request/request.h"

struct scan_job;

/* Called in the loop when the scan has ended.  r: 0 or -errno; report is valid during the call if r is 0. */
typedef void scan_job_done(void *context, int r, const struct scan_report *report);

/* Starts or queues a scan.  time_ms: its limit of CPU time.  The code is copied, so the request may be freed
 * earlier.  done() is called once, not from within this function; *ret is invalid afterwards. */
int scan_job_new(struct core *core, const struct exec_request *request, unsigned time_ms, scan_job_done *done,
                 void *context, struct scan_job **ret);
/* A scan that decides: passes its result to exec_request_decide() and calls decided() with the decision, not
 * from within this function.  The request must exist until then. */
int scan_job_decide(struct core *core, struct exec_request *request, scan_decided *decided, void *context,
                    struct scan_job **ret, struct cella_err *err);
/* Cancels the callback.  The worker stops within milliseconds and the job frees itself.  NULL is allowed. */
void scan_job_cancel(struct scan_job *job);
