#include "attack.h"

/* Of these some belong to a namespace and most to the machine.  Opened, never written. */
ATTACK(proc_sys_write, WALL_PROC, "change the kernel's settings in /proc/sys")
{
        static const char *const paths[] = {
                "/proc/sys/kernel/modprobe",
                "/proc/sys/kernel/hostname",
                "/proc/sys/kernel/panic",
                "/proc/sys/vm/drop_caches",
                "/proc/sys/vm/overcommit_memory",
                "/proc/sys/fs/suid_dumpable",
                "/proc/sys/user/max_user_namespaces",
                "/proc/sys/net/ipv4/ip_forward",
        };
        enum attack_outcome outcome = ATTACK_BLOCKED;

        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
                outcome = attack_worse(outcome, attack_open_for_writing(paths[i]));
        return outcome;
}
