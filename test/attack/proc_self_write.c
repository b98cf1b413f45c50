#include "attack.h"

ATTACK(proc_self_write, WALL_PROC, "change how the kernel treats us, in /proc/self")
{
        enum attack_outcome outcome = attack_open_for_writing("/proc/self/oom_score_adj");

        outcome = attack_worse(outcome, attack_open_for_writing("/proc/self/coredump_filter"));
        outcome = attack_worse(outcome, attack_open_for_writing("/proc/self/uid_map"));
        return attack_worse(outcome, attack_open_for_writing("/proc/self/timerslack_ns"));
}
