/* keeper/process/stock.h -- parts of sandboxes that are made ahead, or are used again after their sandbox is
 * dead.
 *
 * The rule: objects that hold content (mounts, files, IPC objects, memory, processes) are new for each
 * sandbox.  Used again are only
 *  - control groups, which hold counters that no sandbox can read,
 *  - the user namespace that goes with a group: it maps the same uid, and holds nothing but limits' counters,
 *  - network namespaces through which nothing was ever sent (netns_is_as_new()).
 * And there is one read-only view of this machine, which each sandbox copies (jail/view_shared.c). */
#pragma once
#include <stdbool.h>

#include "jail/cgroup.h"
#include "jail/netns.h"
#include "jail/spec.h"

#define STOCK_NETNS 64
#define STOCK_AHEAD 16 /* namespaces that are made before a sandbox needs them */
#define STOCK_GROUPS 64
#define STOCK_RESTING 8 /* groups that are not taken: the kernel is still freeing what was in them */

/* Control groups, and with them goes a uid; and the user namespace in which it is the code's. */
struct stock_groups {
        struct cgroup *cgroup;
        int user; /* -1: none yet */
};

/* How many namespaces there are. */
struct stock_shelf {
        unsigned n, max, least; /* the fewest that there were since: */
        int64_t seen;           /* when stock_tidy() looked at them */
};

struct stock {
        struct netns_kept netns[STOCK_NETNS];
        struct stock_shelf netns_shelf;
        bool makes;                               /* network namespaces, ahead */
        struct netns_record fresh;                /* what a new one says of itself */
        struct stock_groups groups[STOCK_GROUPS]; /* a ring: the one that has rested longest goes first */
        unsigned first_group, n_groups, groups_max;
        int view;    /* a mount namespace, see jail/view_shared.c; -1: none */
        int left[2]; /* a socket: where new ones come (stock_hear()), and what those who leave them
                      * are given; -1: not here */
        int64_t view_asked, view_built; /* when somebody was given that; who left this one */
        uint32_t view_tag;              /* of the last who was */
};

/* privileged: it may make namespaces.  files_max: descriptors that there can be, of which it takes a part. */
void stock_init(struct stock *s, bool privileged, uint64_t files_max);
void stock_done(struct stock *s);

/* Whether there is room for a namespace that stock_make() would make. */
bool stock_wants(const struct stock *s);
void stock_make(struct stock *s);

/* Where the next sandbox has its view from, with its descriptor, which stays ours. */
enum jail_view stock_view(struct stock *s, int *ret_fd);
/* left[0] can be read. */
void stock_hear(struct stock *s);
/* When stock_tidy() has something to do: a view is not held for longer than it is good, because it holds what
 * the host may want to unmount; and more namespaces than are made ahead are held only while they are needed.
 * INT64_MAX: nothing. */
int64_t stock_due(const struct stock *s);
void stock_tidy(struct stock *s, int64_t now);

/* An unused namespace, which the caller lets go of; or none. */
struct netns_kept stock_take_netns(struct stock *s);
/* Groups of these limits, or none; and others that are of no use any more, or NULL.  All are the caller's. */
struct stock_groups stock_take_groups(struct stock *s, const struct cella_limits *limits,
                                      struct cgroup **ret_useless);

/* Of a sandbox that is dead.  Takes what is as good as new (then there is none), and leaves the rest. */
void stock_add_netns(struct stock *s, struct netns_kept *netns);
void stock_add_groups(struct stock *s, struct cgroup **cgroup, int *user);
