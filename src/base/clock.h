/* base/clock.h -- monotonic time and CPU time in microseconds. */
#pragma once
#include <stdint.h>
#include <time.h>

static inline int64_t clock_us(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* CPU time used by this process. */
static inline uint64_t clock_cpu_us(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}
