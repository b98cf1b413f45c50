/* keeper/process/spare.h -- parts of sandboxes that are made ahead, or are used again after their sandbox is
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

#define SPARE_NETNS 64
#define SPARE_AHEAD 16 /* namespaces that are made before a sandbox needs them */
#define SPARE_GROUPS 64
#define SPARE_RESTING 8 /* groups that are not taken: the kernel is still freeing what was in them */

/* Control groups, and with them goes a uid; and the user namespace in which it is the code's. */
struct spare_groups {
        struct cgroup *cgroup;
        int user; /* -1: none yet */
};

/* How many namespaces there are. */
struct spare_count {
        unsigned n, max, least; /* the fewest that there were since: */
        int64_t seen;           /* when spare_tidy() looked at them */
};

struct spare {
        struct netns_kept netns[SPARE_NETNS];
        struct spare_count netns_count;
        bool makes;                               /* network namespaces, ahead */
        struct netns_record fresh;                /* what a new one says of itself */
        struct spare_groups groups[SPARE_GROUPS]; /* a ring: the one that has rested longest goes first */
        unsigned first_group, n_groups, groups_max;
        int view;    /* a mount namespace, see jail/view_shared.c; -1: none */
        int left[2]; /* a socket: where new ones come (spare_hear()), and what those who leave them
                      * are given; -1: not here */
        int64_t view_asked, view_built; /* when somebody was given that; who left this one */
        uint32_t view_tag;              /* of the last who was */
};

/* privileged: it may make namespaces.  files_max: descriptors that there can be, of which it takes a part. */
void spare_init(struct spare *s, bool privileged, uint64_t files_max);
void spare_done(struct spare *s);

/* Whether there is room for a namespace that spare_make() would make. */
bool spare_wants(const struct spare *s);
void spare_make(struct spare *s);

/* Where the next sandbox has its view from, with its descriptor, which stays ours. */
enum jail_view spare_view(struct spare *s, int *ret_fd);
/* left[0] can be read. */
void spare_hear(struct spare *s);
/* When spare_tidy() has something to do: a view is not held for longer than it is good, because it holds what
 * the host may want to unmount; and more namespaces than are made ahead are held only while they are needed.
 * INT64_MAX: nothing. */
int64_t spare_due(const struct spare *s);
void spare_tidy(struct spare *s, int64_t now);

/* An unused namespace, which the caller lets go of; or none. */
struct netns_kept spare_take_netns(struct spare *s);
/* Groups of these limits, or none; and others that are of no use any more, or NULL.  All are the caller's. */
struct spare_groups spare_take_groups(struct spare *s, const struct cella_limits *limits,
                                      struct cgroup **ret_useless);

/* Of a sandbox that is dead.  Takes what is as good as new (then there is none), and leaves the rest. */
void spare_add_netns(struct spare *s, struct netns_kept *netns);
void spare_add_groups(struct spare *s, struct cgroup **cgroup, int *user);
