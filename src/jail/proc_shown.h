/* jail/proc_shown.h -- the allow lists of /proc and /proc/sys, in addition to processes.  Enforced by
 * view_proc.c, and for containers by docker/masks.c. */
#pragma once

/* Entries of /proc.  stat, loadavg, meminfo and uptime describe the whole machine; libc and others need them
 * to count processors and memory. */
static const char *const proc_entries[] = {
        "cpuinfo", "filesystems", "loadavg",     "meminfo",     "mounts", "net",
        "stat",    "sysvipc/msg", "sysvipc/sem", "sysvipc/shm", "uptime", "version",
};

/* Settings below /proc/sys that libc, interpreters, databases and common tools read.  Settings that the
 * kernel does not have are skipped. */
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
