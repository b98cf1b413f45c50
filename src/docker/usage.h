/* docker/usage.h -- the control groups that an engine made for a container: counters, and whether the limits
 * are there.
 *
 * Read from the kernel itself where that can be: it takes microseconds, and is true.  An engine's own
 * numbers take it a second. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cella.h"
#include "wire/keeper.h"

struct usage {
        int memory, cpu, cpuacct, pids; /* directories; -1: not to be had.  With v2 all the same one */
        bool v2;
        bool foreign; /* it is in groups of others: nobody can count for it, not even the engine */
        uint64_t cpu_us, oom_kills, refused; /* when ours began, see usage_begin() */
};
#define USAGE_NONE ((struct usage){.memory = -1, .cpu = -1, .cpuacct = -1, .pids = -1})

/* Those of a process that are the container's own (its id).  Finds as many as it can. */
void usage_open(pid_t pid, const char *container, struct usage *ret);
void usage_close(struct usage *usage);

/* Lowers the limits to these, as far as we may, for who had to begin with more. */
void usage_tighten(const struct usage *usage, uint64_t memory_bytes, uint64_t processes);

/* CELLA_LIMIT_* that nothing enforces.  processes: as the group counts them, init's own included. */
uint32_t usage_missing(const struct usage *usage, const struct cella_limits *limits, uint64_t processes);

/* Fills in what is known; false when nothing is: the groups are gone, or were never seen. */
bool usage_read(const struct usage *usage, struct keeper_counted *ret);

/* Counting begins now: what started the container is not the code's. */
void usage_begin(struct usage *usage);
