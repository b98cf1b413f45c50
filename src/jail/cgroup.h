/* jail/cgroup.h -- the control groups of one sandbox: v2, v1, or both mounted.
 *
 * Owns the directories it makes, and while they exist holds a lock on one of them, so
 * that cgroup_sweep() can tell what a killed owner left behind.  One thread per object.
 * Does not log or exit. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "jail/spec.h"

struct cgroup; /* opaque */

struct cgroup_usage {
        uint64_t cpu_us;
        uint64_t memory_peak_bytes;
        uint32_t processes_peak;
        uint64_t oom_kills;     /* processes that the kernel killed for memory */
        uint64_t forks_refused; /* at the limit on processes */
        bool cpu_known, memory_known, processes_known;
};

/* Whether this host has v2, and only v2, where cgroups are looked for. */
bool cgroup_is_v2(void);

/* Makes the groups with their limits set.  Groups that this host does not give are in
 * cgroup_missing().  On failure *ret is untouched and nothing stays on disk.  -EACCES or
 * -EROFS: none can be made by this user at all. */
int cgroup_new(const struct cella_limits *limits, struct cgroup **ret, struct cella_err *err);

/* Removes the groups; every process in them must be dead.  NULL is fine. */
struct cgroup *cgroup_free(struct cgroup *cg);
DEFINE_AUTO(struct cgroup *, cgroup_free)

/* A number no other live sandbox of this host has. */
unsigned cgroup_number(const struct cgroup *cg);

/* CELLA_LIMIT_* that cannot be enforced. */
uint32_t cgroup_missing(const struct cgroup *cg);

/* v2: the descriptor to clone the child into.  v1: -1. */
int cgroup_clone_fd(const struct cgroup *cg);

/* Files that the child itself must write "0" to: those of v1, and of v2 unless it was cloned
 * into its group.  Returns how many; the caller closes them. */
int cgroup_join_fds(const struct cgroup *cg, bool cloned_into, int fds[JAIL_CGROUP_FDS_MAX],
                    struct cella_err *err);

/* v1 counts what sockets hold by itself, and only if it is limited.  For before any are made. */
int cgroup_limit_sockets(const struct cgroup *cg, const struct cella_limits *limits, struct cella_err *err);

/* CPU time used so far, in microseconds; 0 when it is not known. */
uint64_t cgroup_cpu_us(const struct cgroup *cg);

/* Sets the CPU limit.  Not part of cgroup_new(), because the first group of a host that
 * has one makes the kernel patch its own code on all CPUs, and the last one back: 1 ms
 * for each, which a run of a few milliseconds should not pay. */
int cgroup_throttle(struct cgroup *cg, uint32_t cpus_milli);

/* Lifts the CPU limit, so that killed processes can leave at full speed. */
void cgroup_unthrottle(struct cgroup *cg);

void cgroup_read_usage(const struct cgroup *cg, struct cgroup_usage *ret);

/* Removes groups beside this one whose owner is dead. */
void cgroup_sweep(const struct cgroup *cg);
