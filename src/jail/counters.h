/* jail/counters.h -- the counters of control groups, read from their files.
 *
 * Separate from the groups (cgroup.h) because a process with the open files can read them without any rights
 * to the groups.  The server reads the counters of sandboxes this way. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "wire/keeper.h"

enum counter { CPU_US, MEMORY_NOW, MEMORY_PEAK, OOM_KILLS, PIDS_NOW, PIDS_PEAK, PIDS_REFUSED, N_COUNTERS };

/* Open files; -1: not available. */
struct counters {
        bool v2;
        int fd[N_COUNTERS];
        uint64_t cpu_us_before; /* usage before counting started */
};

struct cgroup_usage {
        uint64_t cpu_us;
        uint64_t memory_bytes, memory_peak_bytes;
        uint32_t processes, processes_peak; /* without init */
        uint64_t oom_kills;                 /* processes that the kernel killed because of memory */
        uint64_t forks_refused;             /* because of the limit on processes */
        bool cpu_known, memory_known, processes_known;
};

/* Returns the name of the file in its group. */
const char *counter_file(enum counter counter, bool v2);

/* Finds the number after `key ` at the start of a line.  key NULL: the text is a single number.  Returns
 * whether it was found. */
bool counter_find(const char *text, const char *key, uint64_t *ret);

/* Returns false if the file or the line does not exist. */
bool counters_get(const struct counters *counters, enum counter counter, uint64_t *ret);

/* From now on only later CPU time is counted.  Returns false if it cannot be read. */
bool counters_begin_cpu(struct counters *counters);

/* Returns the CPU time since cpu_us_before; 0: unknown. */
uint64_t counters_cpu_us(const struct counters *counters);

/* Reads all counters.  Unavailable ones are 0 and not `known`. */
void counters_usage(const struct counters *counters, struct cgroup_usage *ret);

/* Copies the usage into a packet; the head of the packet is unchanged. */
void counters_tell(const struct cgroup_usage *usage, struct keeper_counted *ret);
