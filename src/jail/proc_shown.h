/* jail/proc_shown.h -- the allow lists of /proc and /proc/sys, beside processes.  Included by who enforces
 * them: view_proc.c, and docker/masks.c for containers. */
#pragma once

/* Entries of /proc.  The four that tell about the whole machine (stat, loadavg, meminfo, uptime) are needed
 * to count processors and memory, by libc among others. */
static const char *const proc_entries[] = {
        "cpuinfo", "filesystems", "loadavg",     "meminfo",     "mounts", "net",
        "stat",    "sysvipc/msg", "sysvipc/sem", "sysvipc/shm", "uptime", "version",
};

/* Settings below /proc/sys: what libc, interpreters, databases and common tools read.  Those that a kernel
 * does not have are missing. */
static const char *const proc_settings[] = {
        "crypto/fips_enabled",  "fs/file-max",
        "fs/nr_open",           "fs/pipe-max-size",
        "kernel/cap_last_cap",  "kernel/hostname",
        "kernel/ngroups_max",   "kernel/osrelease",
        "kernel/ostype",        "kernel/pid_max",
        "kernel/random/uuid",   "kernel/threads-max",
        "kernel/version",       "net",
        "vm/max_map_count",     "vm/mmap_min_addr",
        "vm/overcommit_memory",
};
