/* sys/ending.h -- a command announces its exit and exit code to init.
 *
 * A parent is only notified of an exit after the kernel has freed the memory: 0.3 ms for Python, 2 ms for
 * node.  That time would count for the execution.  Therefore restored interpreters (snapshot/) announce
 * their exit after they have finished and closed everything.  Sandboxed code can send the same signal; this
 * only allows it to choose its own exit code.
 *
 * Does not use a libc. */
#pragma once
#include <stdint.h>

#include "sys/raw.h"

#define ENDING_SIGNAL 64 /* the last one; init blocks it and reads it from a signalfd */

/* siginfo_t of the kernel on 64-bit architectures. */
struct ending_info {
        int32_t signal, error, code, pad;
        int32_t pid;
        uint32_t uid;
        int64_t value;
        char rest[96];
};

_Static_assert(sizeof(struct ending_info) == 128, "siginfo_t has 128 bytes");

/* Closes all standard streams with one call, so that the reader of the output is woken once, and sends the
 * signal.  sched_yield() lets the receiver run first if there is only one core. */
static inline void sys_announce_end(int status)
{
        if (sys_call3(SYS_close_range, 0, 2, 0) < 0) /* Linux before 5.9 */
                for (int i = 0; i < 3; i++)
                        sys_call1(SYS_close, i);
        const struct ending_info info = {
                .signal = ENDING_SIGNAL,
                .code = -1, /* SI_QUEUE */
                .pid = (int32_t)sys_call0(SYS_getpid),
                .value = status & 255,
        };
        sys_call3(SYS_rt_sigqueueinfo, sys_call0(SYS_getppid), ENDING_SIGNAL, &info);
        sys_call0(SYS_sched_yield);
}
