/* docker/job.h -- work that waits for the engine, done by threads, so that nobody else waits. */
#pragma once

#define JOB_THREADS 16

/* Does work(argument) soon, in another thread.  The order of jobs is that of their calls, as far as there are
 * free threads.  0 or -errno. */
int job_add(void (*work)(void *argument), void *argument);

/* Waits until none is left or under way, for at most so many seconds. */
void job_drain(unsigned patience_s);
