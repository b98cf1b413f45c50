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
        int64_t paused_us;               /* since then all timers are paused; 0: they run */
        /* The limits passed to deadline_start(). */
        uint64_t grace_us, cpu_us;
        uint32_t cpus_milli; /* at least one CPU */
};

/* The limits that apply, in addition to the timeout and the grace time. */
enum { DEADLINE_NO_TIMEOUT = 1, DEADLINE_COUNTS_CPU = 2, DEADLINE_THROTTLES = 4 };

/* Unsets all timers. */
void deadline_init(struct deadlines *d);
/* Sets the timers of the limits for code that was started at started_us; other timers are unchanged.  flags:
 * DEADLINE_NO_TIMEOUT and so on. */
void deadline_start(struct deadlines *d, const struct cella_limits *limits, int64_t started_us,
                    unsigned flags);
/* Begins to end the execution: sets DEADLINE_KILL to the end of the grace time, which is at most as long as
 * the timeout.  Call after deadline_start().  Returns true if there is a grace time: then the caller must
 * send a signal that the code can handle. */
bool deadline_stop(struct deadlines *d, int64_t now);
/* Reports the CPU time that the code has used.  Returns true if the limit is reached.  Otherwise sets
 * DEADLINE_CPU to the earliest time at which it can be reached. */
bool deadline_cpu_used(struct deadlines *d, int64_t now, uint64_t used_us);

void deadline_set(struct deadlines *d, int timer, int64_t at);
/* Unsets the timers from `first` up to but not including `last`. */
void deadline_clear(struct deadlines *d, int first, int last);
/* Returns when the next timer is due; DEADLINE_NEVER if none is set or all are paused. */
int64_t deadline_next(const struct deadlines *d);
/* Unsets one timer that is due and returns its number; -1 if none is. */
int deadline_take(struct deadlines *d, int64_t now);
/* Pauses all timers, or lets them continue with their remaining time.  Repeated calls have no effect. */
void deadline_pause(struct deadlines *d, bool pause, int64_t now);
