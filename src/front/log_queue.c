#include "front/log_queue.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

/* How many jobs may wait.  The owner has no key but may use several pages and shells.  Keys cannot use up
 * its share. */
static const struct {
        unsigned of_keys, of_a_key, of_the_owner;
} most[] = {
        [false] = {32, 4, 16}, /* each may take a tenth of a second */
        [true] = {1024, 128, 512},
};

static void start_next(struct api *api);

static void log_queue_work(uv_work_t *w)
{
        struct log_job *job = w->data;
        job->look(job);
}

static void on_worked(uv_work_t *w, int status)
{
        struct log_job *job = w->data;
        struct api *api = job->api;
        api->queries--;
        api->log_busy = false;
        job->done(job, status);
        start_next(api);
}

static void start_next(struct api *api)
{
        if (api->log_busy || list_empty(&api->log_jobs))
                return;
        struct log_job *job = list_entry(api->log_jobs.next, struct log_job, link);
        list_remove(&job->link);
        job->begun = api->log_busy = true;
        job->work.data = job;
        api->queries++;
        int r = uv_queue_work(api->core->loop, &job->work, log_queue_work, on_worked);
        if (r < 0)
                on_worked(&job->work, r);
}

static int check_number(const struct api *api, const struct log_job *job, struct cella_err *err)
{
        unsigned of_keys = 0, own = 0;
        list_each (at, &api->log_jobs, other) {
                const struct log_job *waits = list_entry(at, struct log_job, link);
                if (waits->quick != job->quick)
                        continue;
                of_keys += waits->key[0] != '\0';
                own += !strcmp(waits->key, job->key);
        }
        if (job->key[0] ? own < most[job->quick].of_a_key && of_keys < most[job->quick].of_keys
                        : own < most[job->quick].of_the_owner)
                return 0;
        err_say(err, CELLA_OVER_CAPACITY, -EBUSY, "too many queries of the log are waiting: %u of yours",
                own);
        return err_hint(err, "send one query after the other");
}

/* Inserts the job behind the last job of its kind. */
static void log_queue_enter(struct api *api, struct log_job *job)
{
        struct list *before = &api->log_jobs;
        if (job->quick)
                for (before = before->next; before != &api->log_jobs; before = before->next)
                        if (!list_entry(before, struct log_job, link)->quick)
                                break;
        list_add(before, &job->link);
}

int log_queue_add(struct api *api, struct log_job *job, struct cella_err *err)
{
        int r = check_number(api, job, err);
        if (r < 0)
                return r;
        job->api = api;
        log_queue_enter(api, job);
        start_next(api);
        return 0;
}

void log_queue_again(struct log_job *job)
{
        job->begun = false;
        log_queue_enter(job->api, job);
        start_next(job->api);
}

bool log_queue_remove(struct log_job *job)
{
        if (!job->begun)
                list_remove(&job->link);
        return !job->begun;
}
