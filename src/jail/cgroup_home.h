/* jail/cgroup_home.h -- the directories in which the control groups of sandboxes are made. */
#pragma once
#include <stdbool.h>

#include "base/auto.h"
#include "cella.h"

#define CGROUP_PREFIX "cella-" /* followed by a number */

enum controller { MEMORY, PIDS, CPU, CPUACCT, FREEZER, N_CONTROLLERS };

struct cgroup_home {
        bool v2;
        bool freezer_v2; /* the freezer is v2, even if the others are v1 */
        /* The parent directories of the groups; -1: none.  v2 has one for all. */
        int parent[N_CONTROLLERS];
        int twin[N_CONTROLLERS]; /* an earlier entry with the same directory; -1: none */
        int first;               /* the first entry with a directory */
};

/* Finds the directories in which this process can make groups.  *ret owns the descriptors and must outlive
 * the groups made in it.  Free it with cgroup_home_free(), which accepts NULL. */
int cgroup_home_open(struct cgroup_home **ret, struct cella_err *err);
struct cgroup_home *cgroup_home_free(struct cgroup_home *home);
DEFINE_AUTO(struct cgroup_home *, cgroup_home_free)

/* Whether /sys/fs/cgroup of this host is cgroup v2 only. */
bool cgroup_is_v2(void);

/* Removes all groups of sandboxes with a dead owner, in every hierarchy, and kills the processes in them.
 * Used when a daemon starts.  Takes up to a second.  Returns the number of removed directories. */
unsigned cgroup_sweep_all(const struct cgroup_home *home);

/* In v2, only a group without processes can delegate controllers.  If this process is alone in a group that
 * was delegated to it, this function moves it into a new group below.  Otherwise nothing changes. */
void cgroup_make_room(void);

/* Removes leftover groups, see cgroup_sweep().  name: a group in use that is skipped, or "". */
unsigned cgroup_home_sweep(const struct cgroup_home *home, const char *name);

/* Whether `dir` is still the directory called `name`: a sweeper that saw it before it was locked may have
 * removed it. */
bool cgroup_still_there(int parent, const char *name, int dir);
