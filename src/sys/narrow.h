/* sys/narrow.h -- takes prctl(PR_SET_MM) away from the calling process and all it starts.
 *
 * The sandbox's filter lets it through, because what is restored or held (warm/) has to say where its heap
 * and its arguments are.  Code must not: it could make /proc/PID/cmdline as long as memory, for whoever
 * looks at it from outside.  So everything that is to run code narrows itself first, or is narrowed by
 * init.  Without a libc. */
#pragma once
#include <errno.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "sys/raw.h"

static inline int sys_narrow(void)
{
        static const struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 2),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])), /* its low half */
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_MM, 1, 0),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        };
        const struct sock_fprog program = {sizeof filter / sizeof *filter, (struct sock_filter *)filter};
        return (int)sys_call3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}
