/* docker/usage.h -- the control groups that an engine made for a container: counters, and whether the limits
 * are set.
 *
 * They are read from the kernel if possible: this takes microseconds and is exact.  An engine needs a second
 * for its own numbers. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cella.h"
#include "wire/keeper.h"

struct usage {
        int memory, cpu, cpuacct, pids; /* directories; -1: not available. With v2 all are the same */
        bool v2;
        bool foreign; /* it is in a group of other processes: nothing counts for it alone */
        uint64_t cpu_us, oom_kills, refused; /* values at usage_begin() */
};
#define USAGE_NONE ((struct usage){.memory = -1, .cpu = -1, .cpuacct = -1, .pids = -1})

/* Opens the groups of a process that belong to the container (its id), as far as possible. */
void usage_open(pid_t pid, const char *container, struct usage *ret);
void usage_close(struct usage *usage);

/* Lowers the limits to these, as far as permitted, for a container that was started with higher ones. */
void usage_tighten(const struct usage *usage, uint64_t memory_bytes, uint64_t processes);

/* Raises the limits to at least these, if they are lower and it is permitted.  Returns whether none is lower
 * then. */
bool usage_raise(const struct usage *usage, uint64_t memory_bytes, uint64_t processes, uint64_t cpus_milli);

/* Returns the CELLA_LIMIT_* that are not enforced.  processes: as the group counts them, including init's
 * own. */
uint32_t usage_missing(const struct usage *usage, const struct cella_limits *limits, uint64_t processes);

/* Reads the counters.  Returns false if none is available: the groups are gone or were never found. */
bool usage_read(const struct usage *usage, struct keeper_counted *ret);

/* Starts counting: what the runtime used to start the container does not count for the code. */
void usage_begin(struct usage *usage);
