#include "engine/deadline.h"

#define THROTTLE_AFTER_US 20000 /* see cgroup_throttle() */
#define CPU_CHECK_MIN_US 5000   /* the shortest time between two readings */

void deadline_init(struct deadlines *d)
{
        *d = (struct deadlines){0};
        deadline_clear(d, 0, DEADLINE_TIMERS_MAX);
}

/* Returns the shortest time in which the code can use this CPU time on all its CPUs. */
static int64_t cpu_wait(const struct deadlines *d, uint64_t cpu_us)
{
        const int64_t wait = (int64_t)(cpu_us * 1000 / d->cpus_milli);
        return wait > CPU_CHECK_MIN_US ? wait : CPU_CHECK_MIN_US;
}

void deadline_start(struct deadlines *d, const struct cella_limits *l, int64_t started_us, unsigned flags)
{
        const uint64_t grace_ms = l->grace_ms < l->timeout_ms ? l->grace_ms : l->timeout_ms;
        d->grace_us = grace_ms * 1000;
        d->cpu_us = l->cpu_time_ms * 1000;
        d->cpus_milli = l->cpus_milli > 1000 ? l->cpus_milli : 1000;
        if (!(flags & DEADLINE_NO_TIMEOUT))
                deadline_set(d, DEADLINE_TIMEOUT, started_us + (int64_t)l->timeout_ms * 1000);
        if (flags & DEADLINE_THROTTLES)
                deadline_set(d, DEADLINE_THROTTLE, started_us + THROTTLE_AFTER_US);
        /* Half: until the throttle is set, the code has more CPUs than its limit. */
        if ((flags & DEADLINE_COUNTS_CPU) && d->cpu_us > 0)
                deadline_set(d, DEADLINE_CPU, started_us + cpu_wait(d, d->cpu_us / 2));
}

bool deadline_stop(struct deadlines *d, int64_t now)
{
        deadline_set(d, DEADLINE_TIMEOUT, DEADLINE_NEVER);
        deadline_set(d, DEADLINE_KILL, now + (int64_t)d->grace_us);
        return d->grace_us > 0;
}

bool deadline_cpu_used(struct deadlines *d, int64_t now, uint64_t used_us)
{
        if (used_us >= d->cpu_us)
                return true;
        deadline_set(d, DEADLINE_CPU, now + cpu_wait(d, d->cpu_us - used_us));
        return false;
}

void deadline_set(struct deadlines *d, int timer, int64_t at)
{
        d->at[timer] = at;
}

void deadline_clear(struct deadlines *d, int first, int last)
{
        for (int i = first; i < last; i++)
                d->at[i] = DEADLINE_NEVER;
}

int64_t deadline_next(const struct deadlines *d)
{
        int64_t next = DEADLINE_NEVER;
        for (int i = 0; i < DEADLINE_TIMERS_MAX && !d->paused_us; i++)
                if (d->at[i] < next)
                        next = d->at[i];
        return next;
}

int deadline_take(struct deadlines *d, int64_t now)
{
        for (int i = 0; i < DEADLINE_TIMERS_MAX && !d->paused_us; i++)
                if (d->at[i] <= now) {
                        d->at[i] = DEADLINE_NEVER;
                        return i;
                }
        return -1;
}

void deadline_pause(struct deadlines *d, bool pause, int64_t now)
{
        if (pause == (d->paused_us != 0))
                return;
        for (int i = 0; i < DEADLINE_TIMERS_MAX && !pause; i++)
                if (d->at[i] != DEADLINE_NEVER)
                        d->at[i] += now - d->paused_us;
        d->paused_us = pause ? now : 0;
}
