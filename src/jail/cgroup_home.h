/* jail/cgroup_home.h -- inside of the cgroup modules; others see jail/cgroup.h only. */
#pragma once
#include "jail/cgroup.h"

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

/* Removes leftovers: see cgroup_sweep().  name: a group in use that needs not be looked at; or "". */
unsigned cgroup_home_sweep(const struct cgroup_home *home, const char *name);

/* Whether the directory we hold is still the one of that name: a sweeper that saw it before we had
 * locked it may have removed it. */
bool cgroup_still_there(int parent, const char *name, int dir);
