#include "attack.h"

ATTACK(host_sys, WALL_MOUNT, "look at the machine's devices and settings in /sys")
{
        static const char *const paths[] = {"/sys/kernel", "/sys/class", "/sys/fs/cgroup", "/sys/firmware"};
        enum attack_outcome outcome = ATTACK_BLOCKED;
        struct stat st;

        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
                if (stat(paths[i], &st) == 0)
                        outcome = attack_worse(outcome, attack_succeeded("%s is in view", paths[i]));
                else if (errno != ENOENT)
                        outcome = attack_worse(
                                outcome, attack_broken("%s: unforeseen: %s", paths[i], strerror(errno)));
        }
        if (outcome == ATTACK_BLOCKED)
                return attack_blocked("no /sys");
        return outcome;
}
