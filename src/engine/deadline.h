/* engine/deadline.h -- the time limits of one execution.
 *
 * State and arithmetic only: no event loop, no signals, no system calls.  The caller passes the current time
 * in, asks for the next time at which something is due, and does what is due:
 *
 *   deadline_start() -> TIMEOUT --deadline_stop()--> KILL (after the grace time)
 *                    -> CPU     --deadline_cpu_used()--> CPU again, or the limit is reached
 *                    -> THROTTLE
 *
 * Callers add timers of their own behind these four.  All times are those of clock_us(). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "cella.h"

#define DEADLINE_NEVER INT64_MAX
#define DEADLINE_TIMERS_MAX 12

enum deadline_timer {
        DEADLINE_TIMEOUT,  /* the timeout has passed: stop the execution */
        DEADLINE_KILL,     /* the grace time has passed: kill it */
        DEADLINE_CPU,      /* read the CPU time and call deadline_cpu_used() */
        DEADLINE_THROTTLE, /* limit the CPUs from now on, see cgroup_throttle() */
        DEADLINE_OWN       /* the first timer that the caller defines */
};

struct deadlines {
        int64_t at[DEADLINE_TIMERS_MAX]; /* when each timer is due; DEADLINE_NEVER */
        int64_t paused_us;               /* since when all timers stand still; 0: they run */
        /* The limits that deadline_start() was given. */
        uint64_t grace_us, cpu_us;
        uint32_t cpus_milli; /* at least one CPU */
};

/* Which limits apply, beside the timeout and the grace time. */
enum { DEADLINE_NO_TIMEOUT = 1, DEADLINE_COUNTS_CPU = 2, DEADLINE_THROTTLES = 4 };

/* No timer is set. */
void deadline_init(struct deadlines *d);
/* The code was started at started_us.  Sets the timers of its limits; others stay as they are.  flags:
 * DEADLINE_NO_TIMEOUT and so on. */
void deadline_start(struct deadlines *d, const struct cella_limits *limits, int64_t started_us,
                    unsigned flags);
/* Asks the execution to end: sets DEADLINE_KILL to the end of the grace time, which is at most as long as the
 * timeout.  To be called after deadline_start().  Returns true if there is a grace time, so that the caller
 * has to send a signal that the code can handle. */
bool deadline_stop(struct deadlines *d, int64_t now);
/* The code has used so much CPU time.  Returns true if that is the limit or more.  Otherwise sets
 * DEADLINE_CPU to the earliest time at which the limit can be reached. */
bool deadline_cpu_used(struct deadlines *d, int64_t now, uint64_t used_us);

void deadline_set(struct deadlines *d, int timer, int64_t at);
/* Unsets the timers from `first` on, up to and without `last`. */
void deadline_clear(struct deadlines *d, int first, int last);
/* When the next timer is due; DEADLINE_NEVER if there is none, or all stand still. */
int64_t deadline_next(const struct deadlines *d);
/* Unsets one timer that is due and returns its number; -1 if none is. */
int deadline_take(struct deadlines *d, int64_t now);
/* All timers stand still, or go on with the time that they had left.  Twice the same has no effect. */
void deadline_pause(struct deadlines *d, bool pause, int64_t now);
