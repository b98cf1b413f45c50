#include "docker/job.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct job {
        struct job *next;
        void (*work)(void *argument);
        void *argument;
};

static struct {
        pthread_mutex_t lock;
        pthread_cond_t more, done;
        struct job *first, **last;
        unsigned threads, idle, waiting, pending; /* pending: waiting and active */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .more = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static struct job *next_job(void)
{
        pool.idle++;
        while (!pool.first)
                pthread_cond_wait(&pool.more, &pool.lock);
        pool.idle--;
        pool.waiting--;
        struct job *job = pool.first;
        pool.first = job->next;
        if (!pool.first)
                pool.last = NULL;
        return job;
}

static void *docker_job_serve(void *unused)
{
        (void)unused;
        pthread_mutex_lock(&pool.lock);
        for (;;) {
                struct job *job = next_job();
                pthread_mutex_unlock(&pool.lock);
                job->work(job->argument);
                free(job);
                pthread_mutex_lock(&pool.lock);
                if (--pool.pending == 0)
                        pthread_cond_broadcast(&pool.done);
        }
        return NULL;
}

/* Call with the lock held. */
static int start_thread(void)
{
        pthread_attr_t attributes;
        pthread_t thread;
        pthread_attr_init(&attributes);
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, 512 * 1024);
        int r = pthread_create(&thread, &attributes, docker_job_serve, NULL);
        pthread_attr_destroy(&attributes);
        if (r == 0)
                pool.threads++;
        return -r;
}

int job_add(void (*work)(void *argument), void *argument)
{
        struct job *job = malloc(sizeof *job);
        if (!job)
                return -ENOMEM;
        *job = (struct job){NULL, work, argument};
        pthread_mutex_lock(&pool.lock);
        int r = pool.waiting >= pool.idle && pool.threads < JOB_THREADS ? start_thread() : 0;
        if (r < 0 && pool.threads > 0)
                r = 0; /* existing threads will do it */
        if (r == 0) {
                *(pool.last ? pool.last : &pool.first) = job;
                pool.last = &job->next;
                pool.waiting++;
                pool.pending++;
                pthread_cond_signal(&pool.more);
        }
        pthread_mutex_unlock(&pool.lock);
        if (r < 0)
                free(job);
        return r;
}

void job_drain(unsigned patience_s)
{
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += patience_s;
        pthread_mutex_lock(&pool.lock);
        while (pool.pending > 0 && pthread_cond_timedwait(&pool.done, &pool.lock, &until) == 0)
                continue;
        pthread_mutex_unlock(&pool.lock);
}
