/* core/image/jobs.h -- the jobs of cella-image, and who waits for them.  For images.c. */
#pragma once
#include "core/image/used_image.h"
#include "core/image/wait.h"

enum job_type { JOB_PULL, JOB_IMPORT, JOB_REMOVE, JOB_COLLECT, JOB_BOUND };

struct job {
        struct list link; /* in images->jobs, oldest first */
        enum job_type type;
        uint64_t id; /* 0: it has not begun */
        char *name;  /* of a pull, written out; of a gc, NULL */
        char *platform;
        bool insecure;
        char key[ID_SIZE];       /* of who began it; "": the owner */
        struct image_feed *feed; /* of an import */
        int archive;             /* what cella-image reads of it, until it has it; -1 */
        struct list waits;       /* struct image_wait; empty: it was cancelled */
        int64_t cancelled_us;
};

struct image_wait {
        struct list link;
        struct images *images;
        struct job *job;
        const struct image_events *events;
        void *context;
};

struct images {
        struct core *core;
        struct imager_link *link; /* NULL: there is no cella-image */
        bool asked;               /* the keeper, for one */
        uint64_t last_id;
        struct list jobs;
        unsigned n_jobs, running;
        uv_timer_t tick;
        int64_t idle_us; /* when there was a job last */
        struct images_stat stat;
        struct image_shelf shelf;
        int64_t stat_us; /* when the store was looked at */
};

/* Adds a job, or one more wait for an equal job.  wanted: its type and arguments. */
int image_job_add(struct core *core, const struct caller *caller, const struct job *wanted,
                  const struct image_events *events, void *context, struct image_wait **ret,
                  struct cella_err *err);
/* Frees it; no event is called. */
void image_job_free(struct images *images, struct job *job);
