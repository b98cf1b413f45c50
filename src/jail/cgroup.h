/* jail/cgroup.h -- the control groups of one sandbox: v2, v1, or both mounted.
 *
 * Owns the directories that it makes and holds a lock on each of them, so that cgroup_sweep() can recognize
 * the groups of a killed owner.  One thread per object.  Does not log or exit. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "jail/counters.h"
#include "jail/spec.h"

struct cgroup; /* opaque */

struct cgroup_home;

/* Makes the groups and sets their limits.  cgroup_missing() returns the limits that this host cannot enforce.
 * On failure *ret is unchanged and no directory remains.  -EACCES or -EROFS: this user cannot make groups.
 * freezable: also what cgroup_freeze() needs, if the host has it; on v1 this is an additional group.  home:
 * borrowed; NULL: it is determined here. */
int cgroup_new(const struct cgroup_home *home, const struct cella_limits *limits, bool freezable,
               struct cgroup **ret, struct cella_err *err);

/* Call in a forked process that has closed all descriptors of the groups and does not use them. */
void cgroup_forked(void);

/* Removes the groups.  All processes in them must be dead.  NULL is allowed. */
struct cgroup *cgroup_free(struct cgroup *cg);
DEFINE_AUTO(struct cgroup *, cgroup_free)

/* Like cgroup_free(), but does not wait: returns -EBUSY if the kernel still uses a group; *cg is then still
 * valid. */
int cgroup_try_free(struct cgroup *cg);

/* Marks new groups as made ahead: cgroup_renew() prepares them for their first sandbox. */
void cgroup_rest(struct cgroup *cg);

/* Whether more groups can keep their counters open, which groups that are made ahead or reused need. */
bool cgroup_can_keep(void);

/* Whether the groups of a dead sandbox may be reused.  Reuse saves making and removing groups, which is the
 * most expensive part of a sandbox.  Allowed only if the groups reveal nothing about their last sandbox: all
 * processes are dead, at most one process ran beside init (the peak of processes cannot be reset), no fork
 * was refused and no process killed for memory, and the kernel can reset the peak of memory (v2: since Linux
 * 6.12) or does not count it. */
bool cgroup_may_serve_again(struct cgroup *cg);

/* Prepares groups that were made ahead or are reused: sets the limits, and the counters start from zero.
 * Returns false if that is not possible, or if the groups are still busy or contain memory that the kernel
 * has not freed; then they cannot be used. */
bool cgroup_renew(struct cgroup *cg, const struct cella_limits *limits);

/* Returns a number that no other live sandbox of this host has. */
unsigned cgroup_number(const struct cgroup *cg);

/* Returns the CELLA_LIMIT_* that cannot be enforced. */
uint32_t cgroup_missing(const struct cgroup *cg);

/* Returns the descriptor for CLONE_INTO_CGROUP if one of the groups is v2; otherwise -1. */
int cgroup_clone_fd(const struct cgroup *cg);

/* Opens the files to which the child must write "0": those of v1, and of v2 unless it was cloned into its
 * group.  Returns their number or -errno.  The group owns them; cgroup_joined() closes them. */
int cgroup_join_fds(struct cgroup *cg, bool cloned_into, int fds[JAIL_CGROUP_FDS_MAX], struct cella_err *err);
void cgroup_joined(struct cgroup *cg);

/* Changes the limits on memory and processes, and on CPUs if cgroup_throttle() was called.  -EBUSY: more
 * memory is used than that.  On failure the limits are as before. */
int cgroup_change(struct cgroup *cg, const struct cella_limits *limits);

/* Limits the memory of sockets, which v1 counts separately and only with a limit.  Call before any socket is
 * made. */
int cgroup_limit_sockets(struct cgroup *cg, const struct cella_limits *limits, struct cella_err *err);

/* Returns the CPU time used so far, in microseconds; 0 if unknown. */
uint64_t cgroup_cpu_us(struct cgroup *cg);
/* Returns the CPU time of the live processes if no group counts it; otherwise 0.  Call before they are
 * killed. */
uint64_t cgroup_uncounted_cpu_us(const struct cgroup *cg);

/* Sets the CPU limit.  Not part of cgroup_new(): the first group of a host with a CPU limit makes the kernel
 * patch its code on all CPUs, and so does the removal of the last one.  This takes 1 ms each, too much for a
 * run of a few milliseconds. */
int cgroup_throttle(struct cgroup *cg, uint32_t cpus_milli);

/* Removes the CPU limit, so that killed processes end at full speed. */
void cgroup_unthrottle(struct cgroup *cg);

void cgroup_read_usage(struct cgroup *cg, struct cgroup_usage *ret);

/* For groups that were made ahead or are reused: returns their open counters (borrowed), which another
 * process may read.  Otherwise NULL. */
const struct counters *cgroup_counters(const struct cgroup *cg);

/* Freeze and thaw all processes.  -ENOTSUP: not made freezable, or this host has no freezer.  Freezing takes
 * effect when cgroup_is_frozen() returns true. */
int cgroup_freeze(struct cgroup *cg);
int cgroup_thaw(struct cgroup *cg);
bool cgroup_is_frozen(const struct cgroup *cg); /* poll this after cgroup_freeze() */

/* Thaws processes that v1 froze, which could not die otherwise.  Call after killing them. */
void cgroup_let_die(struct cgroup *cg);

/* Removes other groups with a dead owner.  Returns the number of removed directories. */
unsigned cgroup_sweep(const struct cgroup *cg);
