/* jail/cgroup.h -- the control groups of one sandbox: v2, v1, or both mounted.
 *
 * Owns the directories it makes, and while they exist holds a lock on each of them, so
 * that cgroup_sweep() can tell what a killed owner left behind.  One thread per object.
 * Does not log or exit. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "jail/counters.h"
#include "jail/spec.h"

struct cgroup; /* opaque */

struct cgroup_home;

/* Makes the groups with their limits set.  Groups that this host does not give are in
 * cgroup_missing().  On failure *ret is untouched and nothing stays on disk.  -EACCES or
 * -EROFS: none can be made by this user at all.  freezable: with what cgroup_freeze() needs,
 * if there is any; v1 has to join one group more for it.  home NULL: it is looked for. */
int cgroup_new(const struct cgroup_home *home, const struct cella_limits *limits, bool freezable,
               struct cgroup **ret, struct cella_err *err);

/* Removes the groups; every process in them must be dead.  NULL is fine. */
struct cgroup *cgroup_free(struct cgroup *cg);
DEFINE_AUTO(struct cgroup *, cgroup_free)

/* The same for who cannot wait: -EBUSY when the kernel is not done with one of them yet, and
 * then *cg is still there. */
int cgroup_try_free(struct cgroup *cg);

/* For the next sandbox, because to make groups and to remove them is the dearest of what it takes from us,
 * and the kernel has as much to do behind our back.  Only where they say of their last sandbox no more than
 * of any other: every process in it is dead, there was no more than one beside init, and none was refused or
 * killed for memory. */
bool cgroup_may_serve_again(struct cgroup *cg);

/* They serve again from here on, and count from nothing.  False: they are still busy, have other limits, or
 * memory was left in them that the kernel has not freed. */
bool cgroup_renew(struct cgroup *cg, const struct cella_limits *limits);

/* A number no other live sandbox of this host has. */
unsigned cgroup_number(const struct cgroup *cg);

/* CELLA_LIMIT_* that cannot be enforced. */
uint32_t cgroup_missing(const struct cgroup *cg);

/* The descriptor to clone the child into, where one of the groups is of v2; else -1. */
int cgroup_clone_fd(const struct cgroup *cg);

/* Files that the child itself must write "0" to: those of v1, and of v2 unless it was cloned
 * into its group.  Returns how many; they stay the group's, until cgroup_joined(). */
int cgroup_join_fds(struct cgroup *cg, bool cloned_into, int fds[JAIL_CGROUP_FDS_MAX], struct cella_err *err);
void cgroup_joined(struct cgroup *cg);

/* v1 counts what sockets hold by itself, and only if it is limited.  For before any are made. */
int cgroup_limit_sockets(struct cgroup *cg, const struct cella_limits *limits, struct cella_err *err);

/* CPU time used so far, in microseconds; 0 when it is not known. */
uint64_t cgroup_cpu_us(struct cgroup *cg);
/* What is lost with those who are about to be killed, where no group counts it; else 0. */
uint64_t cgroup_uncounted_cpu_us(const struct cgroup *cg);

/* Sets the CPU limit.  Not part of cgroup_new(), because the first group of a host that
 * has one makes the kernel patch its own code on all CPUs, and the last one back: 1 ms
 * for each, which a run of a few milliseconds should not pay. */
int cgroup_throttle(struct cgroup *cg, uint32_t cpus_milli);

/* Lifts the CPU limit, so that killed processes can leave at full speed. */
void cgroup_unthrottle(struct cgroup *cg);

void cgroup_read_usage(struct cgroup *cg, struct cgroup_usage *ret);

/* Of groups that serve again: their open counters, which stay theirs, for somebody else to read.  Else
 * NULL. */
const struct counters *cgroup_counters(const struct cgroup *cg);

/* Stops everything in it, or lets it go on.  -ENOTSUP: it was not made freezable, or this host
 * has no freezer.  It takes a moment until cgroup_is_frozen(). */
int cgroup_freeze(struct cgroup *cg);
int cgroup_thaw(struct cgroup *cg);
bool cgroup_is_frozen(const struct cgroup *cg); /* while it is on the way: to be asked again */

/* What is frozen by v1 does not even die; for after it was told to. */
void cgroup_let_die(struct cgroup *cg);

/* Removes groups beside this one whose owner is dead.  Returns how many directories. */
unsigned cgroup_sweep(const struct cgroup *cg);
