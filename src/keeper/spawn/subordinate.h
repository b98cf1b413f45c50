/* keeper/spawn/subordinate.h -- the subordinate ids of an ordinary user (/etc/subuid, /etc/subgid), for
 * sandboxes with several users: the user's own ids are 0 inside, the subordinate ones follow. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct subordinate {
        unsigned uid, gid; /* the first of at least JAIL_IDS - 1 */
};

/* Returns whether the caller has enough of them, and could use them. */
bool subordinate_find(struct subordinate *ret);

/* Lets newuidmap and newgidmap write the maps of a process in a new user namespace.  Returns 0; -EAGAIN: it
 * has no maps yet, and can write its own; another error: it has only one of them. */
int subordinate_map(const struct subordinate *ids, pid_t pid);
