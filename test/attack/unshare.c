#include "attack.h"

#include <linux/sched.h>

/* Bit 0 is no flag of unshare: EINVAL before any permission is asked for, so each
 * namespace can be tried by itself. */
ATTACK(unshare, WALL_SECCOMP, "leave the namespaces, one by one")
{
        static const struct {
                const char *call;
                unsigned long flag;
        } tries[] = {
                {"unshare(CLONE_NEWUSER)", CLONE_NEWUSER}, {"unshare(CLONE_NEWNS)", CLONE_NEWNS},
                {"unshare(CLONE_NEWPID)", CLONE_NEWPID},   {"unshare(CLONE_NEWNET)", CLONE_NEWNET},
                {"unshare(CLONE_NEWIPC)", CLONE_NEWIPC},   {"unshare(CLONE_NEWUTS)", CLONE_NEWUTS},
                {"unshare(CLONE_NEWTIME)", CLONE_NEWTIME}, {"unshare(CLONE_NEWCGROUP)", CLONE_NEWCGROUP},
        };
        enum attack_outcome outcome = ATTACK_BLOCKED;

        for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
                outcome = attack_worse(outcome,
                                       attack_judge(tries[i].call, CALL(SYS_unshare, tries[i].flag | 1),
                                                    EPERM, ANSWERS(EINVAL)));
        return outcome;
}
