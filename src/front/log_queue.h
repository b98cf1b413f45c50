/* front/log_queue.h -- queries of the log: on the thread pool, one at a time, in order.
 *
 * The pool is small and scans of code need it, too, so queries wait here.  Their number is bounded, also for
 * each key.  All functions are called in the event loop, except look(). */
#pragma once
#include "front/api.h"

struct log_job {
        struct list link;
        uv_work_t work;
        struct api *api;
        char key[ID_SIZE]; /* of the caller; "": the owner */
        bool quick;        /* finds one row by its id; runs before searches */
        bool begun;
        void (*look)(struct log_job *job); /* runs on the thread pool */
        /* Runs in the event loop after look(); the job belongs to its owner again.  status < 0: look() was
         * not called. */
        void (*done)(struct log_job *job, int status);
};

/* Takes a job that has key, quick, look and done set.  CELLA_OVER_CAPACITY: too many jobs wait. */
int log_queue_add(struct api *api, struct log_job *job, struct cella_err *err);
/* Called in done(): queues the job again, behind the others, to continue its search. */
void log_queue_again(struct log_job *job);
/* The result is not needed any more.  True: the job was removed and done() will not be called. */
bool log_queue_remove(struct log_job *job);
