/* docker/job.h -- runs work that waits for the engine in threads, so that the loop does not wait. */
#pragma once

#define JOB_THREADS 16

/* Runs work(argument) soon in another thread.  Jobs start in the order of the calls.  Returns 0 or -errno. */
int job_add(void (*work)(void *argument), void *argument);

/* Waits until all jobs have ended, at most patience_s seconds. */
void job_drain(unsigned patience_s);
