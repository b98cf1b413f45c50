/* keeper/stock.h -- parts of sandboxes that are made ahead, or are as good as new after their sandbox is
 * dead.
 *
 * Network and IPC namespaces, control groups and user namespaces: together they are most of what a sandbox
 * costs the keeper, and the kernel as much again when they go.  And a view to copy, or one that is as it was.
 * No process, no memory, and nothing that code has written to is ever used twice. */
#pragma once
#include <stdbool.h>

#include "jail/cgroup.h"
#include "jail/ipcns.h"
#include "jail/netns.h"
#include "jail/spec.h"
#include "keeper/views.h"

#define STOCK_NETNS 64
#define STOCK_IPC 64
#define STOCK_AHEAD 16 /* namespaces of each kind that are made before anybody needs one */
#define STOCK_GROUPS 64
#define STOCK_RESTING 8 /* groups that are not taken: the kernel is still freeing what was in them */

/* Control groups, and with them goes a uid; the user namespace in which it is the code's; and a view whose
 * directories are its own. */
struct stock_groups {
        struct cgroup *cgroup;
        int user;               /* -1: none yet */
        struct view_kept *view; /* NULL: none */
};

/* How many namespaces of a kind there are. */
struct stock_shelf {
        unsigned n, max, least; /* the fewest that there were since: */
        int64_t seen;           /* when stock_tidy() looked at them */
};

struct stock {
        struct netns_kept netns[STOCK_NETNS];
        struct ipcns_kept ipc[STOCK_IPC];
        struct stock_shelf netns_shelf, ipc_shelf;
        bool makes, makes_ipc;                    /* network namespaces, ahead; IPC namespaces */
        struct netns_record fresh;                /* what a new one says of itself */
        struct stock_groups groups[STOCK_GROUPS]; /* a ring: the one that has rested longest goes first */
        unsigned first_group, n_groups, groups_max;
        struct views views;
        int64_t views_due; /* when one of those that rest may be good for nothing; INT64_MAX: there is none */
        int view;          /* a mount namespace, see jail/view_shared.c; -1: none */
        int left[2];       /* a socket: where new ones come (stock_hear()), and what those who leave them
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

/* Whether the next sandbox should leave one, though there may be others for it. */
bool stock_wants_view(const struct stock *s);
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
struct ipcns_kept stock_take_ipc(struct stock *s);
/* Groups of these limits, or none; and others that are of no use any more, or NULL.  All are the caller's. */
struct stock_groups stock_take_groups(struct stock *s, const struct cella_limits *limits,
                                      struct cgroup **ret_useless);

/* Of a sandbox that is dead.  Takes what is as good as new (then there is none), and leaves the rest. */
void stock_add_netns(struct stock *s, struct netns_kept *netns);
void stock_add_ipc(struct stock *s, struct ipcns_kept *ipc);
/* spec: what the next sandbox with these groups is going to be, if it may have a view that serves again.
 * *view: what is left of one.  -ENOTRECOVERABLE: as view_keep(). */
int stock_add_groups(struct stock *s, struct cgroup **cgroup, int *user, struct view_kept **view,
                     const struct jail_spec *spec);
