/* keeper/process/spare.h -- parts of sandboxes that are made ahead, or reused after the sandbox is dead.
 *
 * The rule: objects that hold content (mounts, files, IPC objects, memory, processes) are new for each
 * sandbox.  Reused are only
 * - control groups, which hold counters that no sandbox can read,
 * - the user namespace that belongs to a group: it maps the same uid and holds only the counters of limits,
 * - network namespaces through which nothing was ever sent (netns_is_as_new()).
 *
 * In addition there is one read-only view of this machine, which each sandbox copies (jail/view_shared.c). */
#pragma once
#include <stdbool.h>

#include "jail/cgroup.h"
#include "jail/netns.h"
#include "jail/spec.h"

#define SPARE_NETNS 64
#define SPARE_AHEAD 16 /* namespaces that are made before a sandbox needs them */
#define SPARE_GROUPS 64
#define SPARE_RESTING 8 /* the last groups are not taken: the kernel is still freeing their contents */
#define SPARE_GROUPS_AHEAD (SPARE_RESTING + 8) /* groups are made ahead while there are fewer */

/* A control group with its uid, and the user namespace in which the code has that uid. */
struct spare_groups {
        struct cgroup *cgroup;
        int user;    /* the user namespace; -1: none yet */
        bool served; /* a sandbox has used the group */
};

/* The number of namespaces. */
struct spare_count {
        unsigned n, max, least; /* least: the smallest n since `seen` */
        int64_t seen;           /* time of the last spare_tidy() */
};

struct spare {
        struct netns_kept netns[SPARE_NETNS];
        struct spare_count netns_count;
        bool makes;                               /* whether network namespaces are made ahead */
        struct netns_record fresh;                /* the state of a new one, to compare with */
        struct spare_groups groups[SPARE_GROUPS]; /* a ring; the oldest is taken first */
        unsigned first_group, n_groups, groups_max;
        const struct cgroup_home *home; /* where groups are made ahead; NULL: none are */
        struct cella_limits limits;     /* of the groups that are made ahead: those that were last needed */
        struct keeper_groups count;
        int view;    /* a mount namespace, see jail/view_shared.c; -1: none */
        int left[2]; /* a socket pair: views arrive at [0] (spare_hear()), sandboxes get [1]; -1: not possible
                        here */
        int64_t view_asked, view_built; /* time at which a sandbox last got left[1]; the same for the sandbox
                                           that built `view` */
        uint32_t view_tag;              /* tag of the sandbox that last got left[1] */
};

/* privileged: the process may make namespaces.  files_max: its limit on descriptors, of which spare parts use
 * a share. */
void spare_init(struct spare *s, bool privileged, uint64_t files_max);
void spare_done(struct spare *s);

/* Starts to make groups ahead; home is borrowed. */
void spare_make_groups_in(struct spare *s, const struct cgroup_home *home);

/* Whether spare_make() should be called, to make a namespace or a group ahead. */
bool spare_wants(const struct spare *s);
void spare_make(struct spare *s);

/* Returns how the next sandbox gets its view, and in *ret_fd the descriptor for it, which is borrowed. */
enum jail_view spare_view(struct spare *s, int *ret_fd);
/* Call when left[0] is readable: receives a view. */
void spare_hear(struct spare *s);
/* Returns when spare_tidy() has something to do; INT64_MAX: nothing.  An outdated view is closed because it
 * holds mounts that the host may want to unmount.  More than SPARE_AHEAD namespaces are kept only while they
 * are needed. */
int64_t spare_due(const struct spare *s);
void spare_tidy(struct spare *s, int64_t now);

/* Returns an unused namespace, which the caller closes with netns_let_go(); or NETNS_NONE. */
struct netns_kept spare_take_netns(struct spare *s);
/* Returns a group with these limits, or none.  *ret_useless: a group that cannot be used, or NULL.  The
 * caller owns both. */
struct spare_groups spare_take_groups(struct spare *s, const struct cella_limits *limits,
                                      struct cgroup **ret_useless);

/* Parts of a dead sandbox.  A part that may be reused is taken and cleared; otherwise it is left
 * unchanged. */
void spare_add_netns(struct spare *s, struct netns_kept *netns);
void spare_add_groups(struct spare *s, struct cgroup **cgroup, int *user);
