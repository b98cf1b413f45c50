#include "attack.h"

ATTACK(sysrq_trigger, WALL_PROC, "reboot or crash the machine by sysrq")
{
        if (access("/proc/sysrq-trigger", F_OK) < 0 && errno == ENOENT)
                return attack_moot("no /proc/sysrq-trigger: hidden, or not in this kernel");
        return attack_open_for_writing("/proc/sysrq-trigger");
}
