/* sys/ending.h -- a command says to init that it is about to end, and with what.
 *
 * Nobody hears of a death before the kernel has taken the memory down: 0.3 ms of Python, 2 ms of node, on
 * somebody's clock.  So what is warm (snapshot/) says so a moment earlier, when it has done and closed
 * everything.  Code can say the same, and all it gains is to be believed about its own exit code.
 * Without a libc. */
#pragma once
#include <stdint.h>

#include "sys/raw.h"

#define ENDING_SIGNAL 64 /* the last one: init blocks it, and takes it by a descriptor */

/* As the kernel has it on 64 bits. */
struct ending_info {
        int32_t signal, error, code, pad;
        int32_t pid;
        uint32_t uid;
        int64_t value;
        char rest[96];
};

_Static_assert(sizeof(struct ending_info) == 128, "as the kernel has it");

/* The output is closed, both parts at once, so that who reads it is woken once.  Whoever hears of the end
 * goes first, if there is no other core for him. */
static inline void sys_announce_end(int status)
{
        if (sys_call3(SYS_close_range, 0, 2, 0) < 0) /* before Linux 5.9 */
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
