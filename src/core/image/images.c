#include "core/image/images.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "core/image/feed.h"
#include "core/image/jobs.h"
#include "core/image/policy.h"
#include "engine/link/imager_link.h"
#include "image/store/store.h"

#define STAT_US 5000000
#define NAME_MAX_BYTES 512

/* ---- jobs ---- */

int image_pull(struct core *core, const struct caller *caller, const struct image_pull *pull,
               const struct image_events *events, void *context, struct image_wait **ret,
               struct cella_err *err)
{
        struct reference ref;
        char name[REFERENCE_SIZE];
        struct job wanted = {.type = JOB_PULL, .name = name, .platform = (char *)pull->platform};
        int r = reference_parse(pull->ref, &ref, err);
        if (r == 0)
                r = image_policy_check(&core->settings, &ref, pull->insecure, &wanted.insecure, err);
        if (r < 0)
                return r;
        reference_write(&ref, name);
        images_configure(core);
        return image_job_add(core, caller, &wanted, events, context, ret, err);
}

static int images_check_name(const char *name, struct cella_err *err)
{
        size_t len = strlen(name);
        return len > 0 && len <= NAME_MAX_BYTES
                       ? 0
                       : err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                 "name must be a name of an image, of at most %d bytes", NAME_MAX_BYTES);
}

static void on_feed_room(void *context)
{
        struct job *j = context;
        list_each (at, &j->waits, other) {
                struct image_wait *w = list_entry(at, struct image_wait, link);
                if (w->events->on_room)
                        w->events->on_room(w, w->context);
        }
}

int image_import(struct core *core, const struct caller *caller, const char *name,
                 const struct image_events *events, void *context, struct image_wait **ret,
                 struct cella_err *err)
{
        const struct job wanted = {.type = JOB_IMPORT, .name = (char *)name};
        struct image_wait *w = NULL;
        int r = name ? images_check_name(name, err) : 0;
        if (r == 0) {
                images_configure(core);
                r = image_job_add(core, caller, &wanted, events, context, &w, err);
        }
        if (r < 0 || !w)
                return r;
        r = image_feed_new(core->loop, on_feed_room, w->job, &w->job->feed, &w->job->archive);
        if (r < 0) {
                image_wait_cancel(w);
                return err_set(err, CELLA_INTERNAL, r, "cannot make a pipe");
        }
        *ret = w;
        return 0;
}

size_t image_feed(struct image_wait *w, const char *data, size_t len)
{
        return w->job && w->job->feed ? image_feed_write(w->job->feed, data, len) : len;
}

void image_feed_end(struct image_wait *w)
{
        if (w->job)
                w->job->feed = image_feed_free(w->job->feed);
}

int image_remove(struct core *core, const struct caller *caller, const char *name,
                 const struct image_events *events, void *context, struct image_wait **ret,
                 struct cella_err *err)
{
        const struct job wanted = {.type = JOB_REMOVE, .name = (char *)name};
        int r = images_check_name(name, err);
        return r < 0 ? r : image_job_add(core, caller, &wanted, events, context, ret, err);
}

int image_collect(struct core *core, const struct caller *caller, const struct image_events *events,
                  void *context, struct image_wait **ret, struct cella_err *err)
{
        const struct job wanted = {.type = JOB_COLLECT};
        return image_job_add(core, caller, &wanted, events, context, ret, err);
}

/* Nothing to do: the limit is checked again before the next job that needs it. */
static void on_bound(struct image_wait *wait, const struct imager_event *end, const struct cella_err *err,
                     void *context)
{
        (void)wait;
        (void)end;
        (void)err;
        (void)context;
}

static uint64_t written_bound(const struct core *core)
{
        char path[sizeof core->store + 16];
        unsigned long long bytes = 0;
        snprintf(path, sizeof path, "%s/max_bytes", core->store);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%20llu", &bytes) != 1)
                bytes = UINT64_MAX; /* unreadable: write it again */
        if (file)
                fclose(file);
        return bytes;
}

void images_configure(struct core *core)
{
        static const struct image_events events = {.on_end = on_bound};
        const struct job wanted = {.type = JOB_BOUND};
        struct image_wait *wait;
        struct caller owner;
        if (written_bound(core) == image_policy_max_bytes(&core->settings))
                return;
        caller_owner(&owner);
        (void)image_job_add(core, &owner, &wanted, &events, NULL, &wait, NULL);
}

/* ---- queries ---- */

int images_all(const struct core *core, const struct image_shelf **ret, struct cella_err *err)
{
        *ret = &core->images->shelf;
        return image_shelf_read(&core->images->shelf, core->store, err);
}

void images_stat(const struct core *core, struct images_stat *ret)
{
        struct images *im = core->images;
        const struct image_shelf *shelf;
        int64_t now = clock_us();
        if ((im->stat_us == 0 || now - im->stat_us > STAT_US) && images_all(core, &shelf, NULL) == 0) {
                im->stat_us = now;
                im->stat.images = shelf->n;
                im->stat.bytes = 0;
                for (size_t i = 0; i < shelf->n; i++)
                        im->stat.bytes += shelf->images[i]->bytes;
        }
        *ret = im->stat;
        ret->jobs = im->n_jobs;
}

/* ---- life cycle ---- */

int images_new(struct core *core, struct images **ret, struct cella_err *err)
{
        struct images *im = calloc(1, sizeof *im);
        if (!im)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "images");
        im->core = core;
        list_init(&im->jobs);
        uv_timer_init(core->loop, &im->tick);
        im->tick.data = im;
        *ret = im;
        return 0;
}

static void images_on_closed(uv_handle_t *handle)
{
        free(handle->data);
}

struct images *images_free(struct images *im)
{
        if (!im)
                return NULL;
        keeper_link_forget(im->core->keeper, im);
        im->link = imager_link_free(im->link);
        image_shelf_done(&im->shelf);
        list_each (at, &im->jobs, other) {
                struct job *j = list_entry(at, struct job, link);
                list_each (wait, &j->waits, after)
                        free(list_entry(wait, struct image_wait, link));
                image_job_free(im, j);
        }
        uv_close((uv_handle_t *)&im->tick, images_on_closed);
        return NULL;
}

int image_want(struct core *core, const struct caller *caller, const char *name,
               const struct image_events *events, void *context, char ret_id[IMAGER_ID_SIZE],
               struct image_wait **ret, struct cella_err *err)
{
        AUTO(image_free) struct image *image = NULL;
        const struct image_pull pull = {.ref = name};
        int r = image_find(core->store, name, &image, err);
        if (r == 0) {
                memcpy(ret_id, image->id, sizeof image->id);
                return 1;
        }
        if (err->kind != CELLA_NOT_FOUND || !image_policy_pulls(&core->settings))
                return r;
        if (caller_may(caller, MAY_IMAGES, NULL) < 0)
                return err_hint(err, "this key may not pull it: it lacks the capability images");
        return image_pull(core, caller, &pull, events, context, ret, err);
}
