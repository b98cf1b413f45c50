/* jail/cgroup_home.h -- where the control groups of sandboxes are made. */
#pragma once
#include <stdbool.h>

#include "base/auto.h"
#include "cella.h"

#define CGROUP_PREFIX "cella-" /* then a number */

enum controller { MEMORY, PIDS, CPU, CPUACCT, FREEZER, N_CONTROLLERS };

struct cgroup_home {
        bool v2;
        bool freezer_v2; /* the freezer's entry is of v2, whatever the others are */
        /* The directories that groups are made in; -1: there is none.  v2 has one for all. */
        int parent[N_CONTROLLERS];
        int twin[N_CONTROLLERS]; /* an entry before it with the same directory; -1: none */
        int first;               /* the first entry that has one */
};

/* Finds out where this process can make groups.  Owns the descriptors; must outlive the groups that are made
 * in it. Free it with cgroup_home_free(), which accepts NULL. */
int cgroup_home_open(struct cgroup_home **ret, struct cella_err *err);
struct cgroup_home *cgroup_home_free(struct cgroup_home *home);
DEFINE_AUTO(struct cgroup_home *, cgroup_home_free)

/* Whether /sys/fs/cgroup of this host is cgroup v2 only. */
bool cgroup_is_v2(void);

/* Removes all groups of sandboxes with a dead owner, in every hierarchy, and kills the processes in them. For
 * a daemon that starts.  Takes up to a second.  Returns the number of removed directories. */
unsigned cgroup_sweep_all(const struct cgroup_home *home);

/* With v2, only groups below one without processes get controllers.  If this process is alone in a group that
 * was delegated to it, it moves into a new group below.  Otherwise nothing changes. */
void cgroup_make_room(void);

/* Removes leftovers: see cgroup_sweep().  name: a group in use that needs not be looked at; or "". */
unsigned cgroup_home_sweep(const struct cgroup_home *home, const char *name);

/* Whether the directory we hold is still the one of that name: a sweeper that saw it before we had
 * locked it may have removed it. */
bool cgroup_still_there(int parent, const char *name, int dir);
