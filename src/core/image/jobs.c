/* core/image/jobs.c -- the jobs of cella-image: their order, their waiters, their end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/image/feed.h"
#include "core/image/jobs.h"
#include "core/image/policy.h"
#include "engine/link/imager_link.h"

#define TICK_MS 1000
#define IDLE_US 20000000   /* without a job, before cella-image is ended */
#define CANCEL_US 15000000 /* for a cancelled job to end, before cella-image is killed */

static void pump(struct images *im);

/* ---- jobs ---- */

void image_job_free(struct images *im, struct job *j)
{
        list_remove(&j->link);
        im->n_jobs--;
        if (j->id)
                im->running--;
        image_feed_free(j->feed);
        if (j->archive >= 0)
                close(j->archive);
        free(j->name);
        free(j->platform);
        free(j);
}

static bool image_jobs_is_same(const struct job *j, const struct job *other)
{
        if (j->type == JOB_COLLECT || j->type == JOB_BOUND)
                return other->type == j->type;
        return j->type == JOB_PULL && other->type == JOB_PULL && !strcmp(j->name, other->name) &&
               j->insecure == other->insecure &&
               !strcmp(j->platform ? j->platform : "", other->platform ? other->platform : "");
}

/* Moves the waiters of a job to *ret. */
static void take_waits(struct job *j, struct list *ret)
{
        list_init(ret);
        list_each (at, &j->waits, other) {
                list_remove(at);
                list_add(ret, at);
                list_entry(at, struct image_wait, link)->job = NULL;
        }
}

static void image_jobs_report(struct list *waits, const struct imager_event *end, const struct cella_err *err)
{
        while (!list_empty(waits)) { /* a callback may cancel others */
                struct image_wait *w = list_entry(waits->next, struct image_wait, link);
                list_remove(&w->link);
                w->events->on_end(w, err ? NULL : end, err, w->context);
                free(w);
        }
}

/* Reports the end to all waiters and frees the job. */
static void job_end(struct images *im, struct job *j, const struct imager_event *end,
                    const struct cella_err *err)
{
        struct list waits;
        im->stat_us = 0;
        if (j->type == JOB_PULL && !list_empty(&j->waits))
                (err ? &im->stat.pulls_failed : &im->stat.pulls)[0]++;
        take_waits(j, &waits);
        image_job_free(im, j);
        image_jobs_report(&waits, end, err);
}

static void fail_all(struct images *im, const struct cella_err *err, bool begun_only)
{
        /* Jobs added meanwhile are at the end and have not started. */
        for (unsigned n = im->n_jobs; n > 0; n--) {
                struct job *j = NULL;
                list_each (at, &im->jobs, other) {
                        struct job *this = list_entry(at, struct job, link);
                        if (!j && (this->id || !begun_only))
                                j = this;
                }
                if (!j)
                        return;
                job_end(im, j, NULL, err);
        }
}

static struct job *image_jobs_find(struct images *im, uint64_t id)
{
        list_each (at, &im->jobs, other) {
                struct job *j = list_entry(at, struct job, link);
                if (j->id == id)
                        return j;
        }
        return NULL;
}

/* ---- cella-image ---- */

static void image_jobs_lose(struct images *im, const char *why)
{
        struct cella_err err = {0};
        im->link = imager_link_free(im->link);
        err_say(&err, CELLA_ENGINE_UNAVAILABLE, -EPIPE, "%s", why);
        err_hint(&err, "nothing was changed; the daemon's log may say more. Try again");
        fail_all(im, &err, true);
        pump(im);
}

static void image_jobs_on_event(void *userdata, const struct imager_event *event)
{
        struct images *im = userdata;
        struct job *j = image_jobs_find(im, event->id);
        if (!j) /* the answer to a cancel */
                return;
        if (event->type != IMAGER_PROGRESS) {
                job_end(im, j, event, event->type == IMAGER_FAILED ? &event->err : NULL);
                pump(im);
                return;
        }
        list_each (at, &j->waits, other) {
                struct image_wait *w = list_entry(at, struct image_wait, link);
                if (w->events->on_progress)
                        w->events->on_progress(w, event, w->context);
        }
}

static void image_jobs_on_lost(void *userdata, bool nonsense)
{
        image_jobs_lose(userdata, nonsense ? "cella-image broke the protocol, and was ended"
                                           : "cella-image has ended during the job");
}

static const struct imager_link_events link_events = {image_jobs_on_event, image_jobs_on_lost};

static void image_jobs_on_started(void *context, const union keeper_packet *packet, int fd)
{
        struct images *im = context;
        struct cella_err err = {0};
        im->asked = false;
        if (packet->type == KEEPER_IMAGER && fd >= 0) {
                if (imager_link_new(im->core->loop, fd, &link_events, im, &im->link, &err) == 0) {
                        pump(im);
                        return;
                }
        } else {
                if (fd >= 0)
                        close(fd);
                err = packet->failed.err;
                err.msg[sizeof err.msg - 1] = err.hint[sizeof err.hint - 1] = '\0';
                err.kind = CELLA_ENGINE_UNAVAILABLE;
        }
        fail_all(im, &err, false);
}

static int write_job(struct images *im, const struct job *j, char **ret, size_t *ret_len,
                     struct cella_err *err)
{
        struct imager_pull pull = {j->name, j->platform, j->insecure, NULL};
        const struct imager_import import = {j->name, "import", NULL};
        struct reference ref;
        char *credentials = NULL;
        int r;
        switch (j->type) {
        case JOB_PULL:
                if ((r = reference_parse(j->name, &ref, err)) < 0 ||
                    (r = image_policy_credentials(im->core, &ref, &credentials, err)) < 0)
                        return r;
                pull.credentials = credentials;
                r = imager_write_pull(j->id, &pull, ret, ret_len);
                image_policy_forget(credentials);
                break;
        case JOB_IMPORT:
                r = imager_write_import(j->id, &import, ret, ret_len);
                break;
        case JOB_BOUND:
                r = imager_write_bound(j->id, image_policy_max_bytes(&im->core->settings), ret, ret_len);
                break;
        case JOB_REMOVE:
                r = imager_write_remove(j->id, j->name, ret, ret_len);
                break;
        default:
                r = imager_write_gc(j->id, ret, ret_len);
        }
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "images") : 0;
}

/* Sends a job.  Returns false if cella-image is gone. */
static bool image_jobs_begin(struct images *im, struct job *j)
{
        struct cella_err err = {0};
        char *line = NULL;
        size_t len = 0;
        j->id = ++im->last_id;
        im->running++;
        if (write_job(im, j, &line, &len, &err) < 0) {
                job_end(im, j, NULL, &err);
                return true;
        }
        int r = imager_link_send(im->link, line, len, j->archive);
        explicit_bzero(line, len);
        free(line);
        if (r < 0) {
                image_jobs_lose(im, "cella-image has ended during the job");
                return false;
        }
        if (j->archive >= 0)
                close(j->archive);
        j->archive = -1;
        return true;
}

static bool is_long(const struct job *j)
{
        return j->type == JOB_IMPORT || j->type == JOB_COLLECT;
}

/* Returns a job that may start now.  Not one that equals a job which is being cancelled, and not too many
 * long ones, which can take as long as their client likes. */
static struct job *image_jobs_next(struct images *im)
{
        unsigned n_long = 0;
        list_each (at, &im->jobs, other) {
                const struct job *j = list_entry(at, struct job, link);
                n_long += j->id && is_long(j);
        }
        list_each (at, &im->jobs, other) {
                struct job *j = list_entry(at, struct job, link);
                bool waits = j->id != 0 || (is_long(j) && n_long >= IMAGES_LONG_MAX);
                list_each (earlier, &im->jobs, after) {
                        const struct job *e = list_entry(earlier, struct job, link);
                        if (e->id && image_jobs_is_same(e, j))
                                waits = true;
                }
                if (!waits)
                        return j;
        }
        return NULL;
}

static void pump(struct images *im)
{
        struct job *j;
        if (!im->link) {
                if (im->n_jobs > 0 && !im->asked)
                        im->asked = keeper_link_ask(im->core->keeper, KEEPER_IMAGER_WANTED, 0,
                                                    image_jobs_on_started, im) == 0;
                return;
        }
        while (im->running < IMAGER_JOBS_MAX && (j = image_jobs_next(im)))
                if (!image_jobs_begin(im, j))
                        return; /* image_jobs_lose() has already called pump() */
}

static void image_jobs_cancel(struct images *im, struct job *j)
{
        char *line = NULL;
        size_t len;
        if (!j->id) {
                image_job_free(im, j);
                return;
        }
        /* The pipe stays open until the job has ended: its end would look like a complete archive. */
        j->cancelled_us = clock_us();
        int r = imager_write_cancel(++im->last_id, j->id, &line, &len);
        if (r == 0)
                r = imager_link_send(im->link, line, len, -1);
        free(line);
        if (r < 0)
                image_jobs_lose(im, "cella-image has ended during the job");
}

/* Ends an upload that is too slow and would keep its slot for ever. */
static void end_slow(struct images *im, int64_t now)
{
        struct job *slow = NULL;
        struct cella_err err = {0};
        struct list waits;
        list_each (at, &im->jobs, other) {
                struct job *j = list_entry(at, struct job, link);
                if (j->feed && !j->cancelled_us && !slow && image_feed_is_slow(j->feed, now))
                        slow = j; /* only one per second, because this may end others */
        }
        if (!slow)
                return;
        err_say(&err, CELLA_INVALID_REQUEST, -ETIMEDOUT, "the archive comes too slowly: less than 1 KiB/s");
        err_hint(&err, "nothing was changed; put it where it can be sent from faster");
        take_waits(slow, &waits);
        image_jobs_cancel(im, slow);
        image_jobs_report(&waits, NULL, &err);
}

/* Runs while there are jobs or a cella-image process. */
static void image_jobs_on_tick(uv_timer_t *timer)
{
        struct images *im = timer->data;
        int64_t now = clock_us();
        pump(im);
        list_each (at, &im->jobs, other) {
                const struct job *j = list_entry(at, struct job, link);
                if (im->link && j->cancelled_us && now - j->cancelled_us > CANCEL_US) {
                        image_jobs_lose(im, "cella-image did not end a cancelled job, and was ended");
                        return;
                }
        }
        end_slow(im, now);
        if (im->n_jobs > 0)
                im->idle_us = now;
        if (now - im->idle_us > IDLE_US)
                im->link = imager_link_free(im->link);
        if (im->n_jobs == 0 && !im->link && !im->asked)
                uv_timer_stop(timer);
}

/* ---- waiting for a job ---- */

static int image_jobs_join(struct images *im, struct job *j, const struct image_events *events, void *context,
                           struct image_wait **ret, struct cella_err *err)
{
        struct image_wait *w = calloc(1, sizeof *w);
        if (!w)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "images");
        *w = (struct image_wait){.images = im, .job = j, .events = events, .context = context};
        list_add(&j->waits, &w->link);
        *ret = w;
        return 0;
}

/* Checks whether this key may add another job. */
static int check_room(const struct images *im, const struct caller *caller, struct cella_err *err)
{
        unsigned n = 0;
        list_each (at, &im->jobs, other)
                n += !strcmp(list_entry(at, struct job, link)->key, caller->key);
        if (im->n_jobs >= IMAGES_WAITING_MAX)
                return err_say(err, CELLA_OVER_CAPACITY, -EBUSY, "the maximum of %d image jobs is reached",
                               IMAGES_WAITING_MAX);
        if (!caller->owner && n >= IMAGES_OF_KEY_MAX)
                return err_say(err, CELLA_OVER_CAPACITY, -EBUSY,
                               "the maximum of %d image jobs of one key is reached", IMAGES_OF_KEY_MAX);
        return 0;
}

int image_job_add(struct core *core, const struct caller *caller, const struct job *wanted,
                  const struct image_events *events, void *context, struct image_wait **ret,
                  struct cella_err *err)
{
        struct images *im = core->images;
        list_each (at, &im->jobs, other) {
                struct job *j = list_entry(at, struct job, link);
                /* A JOB_BOUND that was already sent may have the old value. */
                if (image_jobs_is_same(j, wanted) && !j->cancelled_us && !(j->type == JOB_BOUND && j->id))
                        return image_jobs_join(im, j, events, context, ret, err);
        }
        if (core->stopping)
                return err_say(err, CELLA_ENGINE_UNAVAILABLE, -ESHUTDOWN, "the daemon is shutting down");
        int r = check_room(im, caller, err);
        if (r < 0)
                return r;
        struct job *j = calloc(1, sizeof *j);
        if (!j)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "images");
        *j = *wanted;
        j->archive = -1;
        memcpy(j->key, caller->key, sizeof j->key);
        j->name = wanted->name ? strdup(wanted->name) : NULL;
        j->platform = wanted->platform ? strdup(wanted->platform) : NULL;
        list_init(&j->waits);
        list_add(&im->jobs, &j->link);
        im->n_jobs++;
        r = (wanted->name && !j->name) || (wanted->platform && !j->platform)
                    ? err_set(err, CELLA_INTERNAL, -ENOMEM, "images")
                    : image_jobs_join(im, j, events, context, ret, err);
        if (r < 0)
                image_job_free(im, j);
        else /* deferred, so that the caller has *ret before on_end is called */
                uv_timer_start(&im->tick, image_jobs_on_tick, 0, TICK_MS);
        return r;
}

void image_wait_cancel(struct image_wait *w)
{
        struct images *im = w->images;
        struct job *j = w->job;
        list_remove(&w->link);
        free(w);
        if (!j || !list_empty(&j->waits))
                return;
        image_jobs_cancel(im, j);
}
