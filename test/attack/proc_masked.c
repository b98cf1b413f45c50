#include "attack.h"

/* Entries that kernels have beside what programs need, and some settings.  Whether we could read one is for
 * its owner and mode to say, and a second question: with the wall it does not exist. */
static const char *const hidden[] = {
        /* other sandboxes and the host's load */
        "locks",
        "pressure/cpu",
        "pressure",
        "cgroups",
        "vmstat",
        "zoneinfo",
        "buddyinfo",
        "pagetypeinfo",
        "diskstats",
        "swaps",
        "interrupts",
        "softirqs",
        "schedstat",
        "sched_debug",
        "slabinfo",
        "vmallocinfo",
        "timer_list",
        "timer_stats",
        "latency_stats",
        "key-users",
        "keys",
        "sys/fs/file-nr",
        "sys/fs/inode-nr",
        "sys/fs/dentry-state",
        "sys/kernel/pty/nr",
        "sys/kernel/random/entropy_avail",
        "sys/kernel/ns_last_pid",
        /* the machine and its kernel */
        "sys/kernel/random/boot_id",
        "sys/kernel/core_pattern",
        "sys/kernel/modprobe",
        "sys/kernel/tainted",
        "sys/kernel/domainname",
        "sys/vm/swappiness",
        "sys/dev",
        "sys/debug",
        "sys/fs/binfmt_misc",
        "acpi",
        "asound",
        "bootconfig",
        "bus",
        "cmdline",
        "config.gz",
        "consoles",
        "crypto",
        "devices",
        "dma",
        "driver",
        "dynamic_debug",
        "execdomains",
        "fb",
        "fs",
        "iomem",
        "ioports",
        "irq",
        "kallsyms",
        "kcore",
        "kmsg",
        "kpagecgroup",
        "kpagecount",
        "kpageflags",
        "mdstat",
        "misc",
        "modules",
        "mtrr",
        "partitions",
        "scsi",
        "sysrq-trigger",
        "tty",
};

static enum attack_outcome judge_present(const char *name, const char *how)
{
        return attack_succeeded("/proc/%s is there (%s)", name, how);
}

/* Entries of this kernel that are on no list. */
static enum attack_outcome look_for_others(void)
{
        static const char *const expected[] = {".", "..", "self", "thread-self"};
        enum attack_outcome outcome = ATTACK_BLOCKED;
        DIR *proc = opendir("/proc");

        if (!proc)
                return attack_broken("/proc cannot be listed");
        for (const struct dirent *e; (e = readdir(proc));) {
                bool known = e->d_name[0] >= '0' && e->d_name[0] <= '9';

                for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
                        known |= strcmp(e->d_name, expected[i]) == 0;
                if (!known)
                        outcome = attack_worse(outcome, judge_present(e->d_name, "listed"));
        }
        closedir(proc);
        return outcome;
}

ATTACK(proc_masked, WALL_PROC, "read what /proc tells about the machine and other sandboxes")
{
        enum attack_outcome outcome = look_for_others();
        char path[64];

        for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
                snprintf(path, sizeof path, "/proc/%s", hidden[i]);
                if (access(path, F_OK) == 0)
                        outcome = attack_worse(outcome,
                                               judge_present(hidden[i], access(path, R_OK) == 0
                                                                                ? "readable"
                                                                                : "closed by its mode"));
                else if (errno != ENOENT)
                        outcome = attack_worse(outcome,
                                               attack_broken("%s: unforeseen: %s", path, strerror(errno)));
        }
        return outcome == ATTACK_BLOCKED ? attack_blocked("none of these is there") : outcome;
}
