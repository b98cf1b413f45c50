#include "attack.h"

/* The x32 numbers share the architecture's name with the 64-bit ones and differ in one
 * bit, past which a filter by number does not look. */
ATTACK(x32_call, WALL_SECCOMP, "make a system call by its x32 number")
{
#ifdef __x86_64__
        int status = 0;
        pid_t pid = fork();

        if (pid < 0)
                return attack_broken("fork: %s", strerror(errno));
        if (pid == 0) {
                long r = CALL(0x40000000L | SYS_getpid);

                _exit(r == getpid() ? 0 : r == -ENOSYS ? 4 : r == -EPERM ? 5 : 3);
        }
        if (waitpid(pid, &status, 0) != pid)
                return attack_broken("waitpid: %s", strerror(errno));
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
                return attack_blocked("killed with SIGSYS");
        if (WIFEXITED(status) && WEXITSTATUS(status) == 5)
                return attack_blocked("getpid by its x32 number: EPERM");
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
                return attack_succeeded("getpid by its x32 number answered");
        if (WIFEXITED(status) && WEXITSTATUS(status) == 4)
                return attack_succeeded("reached the kernel, which was built without x32: ENOSYS");
        return attack_broken("unforeseen wait status %#x", (unsigned)status);
#else
        return attack_moot("does not apply to this processor");
#endif
}
