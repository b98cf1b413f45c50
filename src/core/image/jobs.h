/* core/image/jobs.h -- the jobs of cella-image, and the requests that wait for them.  For images.c. */
#pragma once
#include "core/image/used_image.h"
#include "core/image/wait.h"

enum job_type { JOB_PULL, JOB_IMPORT, JOB_REMOVE, JOB_COLLECT, JOB_BOUND };

struct job {
        struct list link; /* in images->jobs, oldest first */
        enum job_type type;
        uint64_t id; /* 0: not started */
        char *name;  /* of a pull, in full form; NULL for JOB_COLLECT */
        char *platform;
        bool insecure;
        char key[ID_SIZE];       /* of the caller who started it; "": the owner */
        struct image_feed *feed; /* for an import */
        int archive;             /* read end of the archive, until it is sent; -1 */
        struct list waits;       /* struct image_wait; empty: cancelled */
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
        struct imager_link *link; /* NULL: cella-image does not run */
        bool asked;               /* the keeper was asked to start it */
        uint64_t last_id;
        struct list jobs;
        unsigned n_jobs, running;
        uv_timer_t tick;
        int64_t idle_us; /* time of the last job */
        struct images_stat stat;
        struct image_shelf shelf;
        int64_t stat_us; /* time of the last reading of the store */
};

/* Adds a job, or another wait for an equal job.  wanted: type and arguments. */
int image_job_add(struct core *core, const struct caller *caller, const struct job *wanted,
                  const struct image_events *events, void *context, struct image_wait **ret,
                  struct cella_err *err);
/* Frees the job without callbacks. */
void image_job_free(struct images *images, struct job *job);
