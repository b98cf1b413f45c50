#include "attack.h"

#include <linux/seccomp.h>

/* A filter with a listener answers system calls in the kernel's place. */
ATTACK(seccomp_listener, WALL_SECCOMP, "answer the system calls of other processes")
{
        return attack_judge(
                "seccomp",
                CALL(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, BAD_POINTER),
                EPERM, ANSWERS(EFAULT, EINVAL));
}
