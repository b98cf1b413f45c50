#include "attack.h"

/* A process of the host has no number here: ESRCH.  EPERM would mean that it has one
 * and that only its owner protects it. */
ATTACK(signal_process, WALL_PID, "send a signal to a process of the host")
{
        static const int signals[] = {0, SIGCONT};
        enum attack_outcome outcome = ATTACK_BLOCKED;

        if (victim->pid <= 1)
                return attack_broken("needs pid");
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
                outcome =
                        attack_worse(outcome, attack_judge(signals[i] ? "kill(pid, SIGCONT)" : "kill(pid, 0)",
                                                           CALL(SYS_kill, victim->pid, signals[i]), ESRCH,
                                                           ANSWERS(EPERM)));
        return outcome;
}
