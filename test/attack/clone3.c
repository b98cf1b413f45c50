#include "attack.h"

#include <linux/sched.h>

/* Its flags lie in memory, where a filter cannot look; so it must not exist at all.
 * ENOSYS, because then libc falls back to clone. */
ATTACK(clone3, WALL_SECCOMP, "make a process in a new namespace by clone3")
{
        struct clone_args args = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
        long pid = CALL(SYS_clone3, &args, sizeof args);

        if (pid == 0)
                _exit(0);
        if (pid > 0)
                waitpid((pid_t)pid, NULL, 0);
        return attack_judge("clone3", pid, ENOSYS, ANSWERS(EPERM, ENOSPC, EUSERS, EINVAL));
}
