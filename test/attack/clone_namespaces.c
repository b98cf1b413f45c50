#include "attack.h"

#include <linux/sched.h>

/* CLONE_THREAD without CLONE_SIGHAND is refused with EINVAL before any permission is
 * asked for, so each flag can be tried by itself and no process is ever made.  The
 * kernel ignores the upper half of the word: a filter must too. */
ATTACK(clone_namespaces, WALL_SECCOMP, "make a process in new namespaces by clone")
{
        static const struct {
                const char *call;
                unsigned long flag;
        } tries[] = {
                {"clone(CLONE_NEWUSER)", CLONE_NEWUSER},
                {"clone(CLONE_NEWNS)", CLONE_NEWNS},
                {"clone(CLONE_NEWPID)", CLONE_NEWPID},
                {"clone(CLONE_NEWNET)", CLONE_NEWNET},
                {"clone(CLONE_NEWIPC)", CLONE_NEWIPC},
                {"clone(CLONE_NEWUTS)", CLONE_NEWUTS},
                {"clone(CLONE_NEWCGROUP)", CLONE_NEWCGROUP},
                {"clone(CLONE_NEWUSER + upper half)", CLONE_NEWUSER | 1UL << 40},
        };
        enum attack_outcome outcome = ATTACK_BLOCKED;

        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
                outcome = attack_worse(outcome,
                                       attack_judge(tries[i].call,
                                                    CALL(SYS_clone, tries[i].flag | CLONE_THREAD, 0, 0, 0, 0),
                                                    EPERM, ANSWERS(EINVAL)));

        long pid = CALL(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0)
                _exit(0);
        if (pid > 0)
                waitpid((pid_t)pid, NULL, 0);
        return attack_worse(outcome, attack_judge("clone for real", pid, EPERM, ANSWERS(ENOSPC, EUSERS)));
}
