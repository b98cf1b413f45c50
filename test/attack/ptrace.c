#include "attack.h"

#include <sys/ptrace.h>

/* Our own child, which the kernel lets us trace; and a process that cannot be, which it
 * looks for before it asks who we are. */
ATTACK(ptrace, WALL_SECCOMP, "trace a process")
{
        pid_t pid = fork();

        if (pid < 0)
                return attack_broken("fork: %s", strerror(errno));
        if (pid == 0) {
                attack_fuse();
                pause();
                _exit(0);
        }
        enum attack_outcome outcome = attack_judge(
                "ptrace(PTRACE_SEIZE)", CALL(SYS_ptrace, PTRACE_SEIZE, pid), EPERM, ANSWERS(ESRCH));
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return attack_worse(outcome,
                            attack_judge("ptrace(PTRACE_ATTACH)", CALL(SYS_ptrace, PTRACE_ATTACH, 0x7fffffff),
                                         EPERM, ANSWERS(ESRCH)));
}
