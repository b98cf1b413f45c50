/* core/request/scan_job.h -- scans the code of a request in a worker thread, so that the event loop never
 * waits for the parser. */
#pragma once
#include "core/request/request.h"

struct scan_job;

/* Called in the loop when the scan has ended: r is 0 or -errno; report is valid during the call if r is 0. */
typedef void scan_job_done(void *context, int r, const struct scan_report *report);

/* Starts a scan, or queues it behind others.  time_ms is its limit of CPU time.  The job copies the code: the
 * request may go before it ends.  done() is called once, never from within this function, and *ret is invalid
 * after it. */
int scan_job_new(struct core *core, const struct exec_request *request, unsigned time_ms, scan_job_done *done,
                 void *context, struct scan_job **ret);
/* done() will not be called.  The worker stops within milliseconds and the job frees itself.  NULL is fine.
 */
void scan_job_cancel(struct scan_job *job);
