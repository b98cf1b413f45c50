/* front/log_queue.h -- questions to the log: on the thread pool, one at a time, in the order they came.
 *
 * The pool is small and scans of code need it, too: who asks the log much waits here and not there.
 * Bounded in number, also for each key.  All from the loop's thread, but look(). */
#pragma once
#include "front/api.h"

struct log_job {
        struct list link;
        uv_work_t work;
        struct api *api;
        char key[ID_SIZE]; /* whose; "": the owner */
        bool quick;        /* finds one row by its id: goes before those that search */
        bool begun;
        void (*look)(struct log_job *job); /* on the pool */
        /* Then, on the loop; the job is the owner's own again.  status < 0: there was no look(). */
        void (*done)(struct log_job *job, int status);
};

/* Takes a job whose key, quick, look and done are set.  CELLA_OVER_CAPACITY: too many wait already. */
int log_queue_add(struct api *api, struct log_job *job, struct cella_err *err);
/* From done(): it has more to look for, when the others had their turn. */
void log_queue_again(struct log_job *job);
/* Nobody wants to know any more: whether it could be taken out, and done() will not be called. */
bool log_queue_remove(struct log_job *job);
