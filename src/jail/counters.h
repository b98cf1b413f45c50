/* jail/counters.h -- what control groups count, read from their files.
 *
 * Apart from the groups themselves (cgroup.h), because whoever is given the open files can read them without
 * any right over the groups: the server does, of sandboxes whose execution it waits for. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "wire/keeper.h"

enum counter { CPU_US, MEMORY_NOW, MEMORY_PEAK, OOM_KILLS, PIDS_NOW, PIDS_PEAK, PIDS_REFUSED, N_COUNTERS };

/* Open files; -1: this one is not there. */
struct counters {
        bool v2;
        int fd[N_COUNTERS];
        uint64_t cpu_us_before; /* what was used before the count began */
};

struct cgroup_usage {
        uint64_t cpu_us;
        uint64_t memory_bytes, memory_peak_bytes;
        uint32_t processes, processes_peak; /* without init */
        uint64_t oom_kills;                 /* processes that the kernel killed for memory */
        uint64_t forks_refused;             /* at the limit on processes */
        bool cpu_known, memory_known, processes_known;
};

/* The file's name in its group. */
const char *counter_file(enum counter counter, bool v2);

/* The number after `key ` at the beginning of a line; of a text that is only a number: NULL. */
bool counter_find(const char *text, const char *key, uint64_t *ret);

/* False: there is no such file, or not this line in it. */
bool counters_get(const struct counters *counters, enum counter counter, uint64_t *ret);

/* Since cpu_us_before; 0: not known. */
uint64_t counters_cpu_us(const struct counters *counters);

/* What is not there is 0, and not known. */
void counters_usage(const struct counters *counters, struct cgroup_usage *ret);

/* The same as a packet has it; its head stays as it is. */
void counters_tell(const struct cgroup_usage *usage, struct keeper_counted *ret);
