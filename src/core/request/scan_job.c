#include "core/request/scan_job.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/* Maximum number of concurrent scans, which bounds their memory.  libuv's pool has one more thread for other
 * work (daemon/main.c). */
#define RUNNING_MAX 2

struct scan_job {
        uv_work_t work;
        struct list link; /* in core->scan_jobs until it runs */
        struct core *core;
        struct scan_request request;
        char *text;
        json_t *allowed_imports; /* read by the worker; reference counts change only in the loop */
        unsigned time_ms;
        atomic_bool cancelled;
        bool running;
        scan_job_done *done; /* NULL: the job decides about request_decided and calls decided */
        struct exec_request *request_decided;
        scan_decided *decided;
        void *context;
        int r;
        struct scan_report report;
};

static void job_free(struct scan_job *job)
{
        free(job->text);
        json_decref(job->allowed_imports);
        free(job);
}

static void job_work(uv_work_t *work)
{
        struct scan_job *job = work->data;
        const struct scan_limits limits = {.time_us = job->time_ms * (uint64_t)1000,
                                           .cancelled = &job->cancelled};
        job->r = scan_request_run(&job->request, &limits, &job->report);
}

static void job_report(const struct scan_job *job, int r)
{
        struct cella_err err = {0};
        if (job->done) {
                job->done(job->context, r, &job->report);
                return;
        }
        r = exec_request_decide(job->core, job->request_decided, r, &job->report, &err);
        job->decided(job->context, r, &err);
}

static void start_next(struct core *core);

static void job_ended(uv_work_t *work, int status)
{
        struct scan_job *job = work->data;
        struct core *core = job->core;
        core->scans_running--;
        if (!job->cancelled)
                job_report(job, status < 0 ? status : job->r);
        job_free(job);
        start_next(core);
}

static void start_next(struct core *core)
{
        while (core->scans_running < RUNNING_MAX && !list_empty(&core->scan_jobs)) {
                struct scan_job *job = list_entry(core->scan_jobs.next, struct scan_job, link);
                list_remove(&job->link);
                job->running = true;
                core->scans_running++;
                /* Fails only without a callback. */
                uv_queue_work(core->loop, &job->work, job_work, job_ended);
        }
}

int scan_job_new(struct core *core, const struct exec_request *request, unsigned time_ms, scan_job_done *done,
                 void *context, struct scan_job **ret)
{
        struct scan_job *job = calloc(1, sizeof *job);
        if (!job)
                return -ENOMEM;
        job->request = exec_request_scan_request(request);
        job->text = malloc(job->request.len + 1);
        if (!job->text) {
                free(job);
                return -ENOMEM;
        }
        memcpy(job->text, job->request.text, job->request.len);
        job->request.text = job->text;
        job->request.allowed_imports = job->allowed_imports = json_incref((json_t *)request->allowed_imports);
        job->work.data = job;
        job->core = core;
        job->time_ms = time_ms;
        job->done = done;
        job->context = context;
        list_add(&core->scan_jobs, &job->link);
        start_next(core);
        *ret = job;
        return 0;
}

int scan_job_decide(struct core *core, struct exec_request *request, scan_decided *decided, void *context,
                    struct scan_job **ret, struct cella_err *err)
{
        int r = scan_job_new(core, request, SCAN_TIME_MS, NULL, context, ret);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "scanner");
        (*ret)->request_decided = request;
        (*ret)->decided = decided;
        return 0;
}

void scan_job_cancel(struct scan_job *job)
{
        if (!job)
                return;
        if (!job->running) {
                list_remove(&job->link);
                job_free(job);
                return;
        }
        job->cancelled = true;
        uv_cancel((uv_req_t *)&job->work); /* works if no thread has started it */
}
