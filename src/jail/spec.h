/* jail/spec.h -- the description of one sandbox. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cella.h"
#include "jail/walls.h"

#define JAIL_UID 1000u  /* uid of the code, inside */
#define JAIL_IDS 65536u /* uids, and gids, of a sandbox with several users */
#define JAIL_HELPERS 8  /* processes of init itself in a sandbox for several commands */
#define JAIL_CGROUP_FDS_MAX 5
#define JAIL_PINS_MAX 16

/* The control groups of the code. */
struct jail_groups {
        int fds[JAIL_CGROUP_FDS_MAX]; /* writing 0 joins the group */
        unsigned n_fds;
};

struct jail_mount {
        const char *source; /* on the host */
        const char *target; /* inside; absolute, see options_check_target() */
        bool writable;
        int idmap_fd; /* user namespace that maps the source's owner to the code's uid; -1: none */
        int tree_fd;  /* the source as a detached mount; -1: opened by path */
};

/* How the view is made, see view_shared.c. */
enum jail_view {
        JAIL_VIEW_OWN,    /* built for this sandbox only */
        JAIL_VIEW_LEAVES, /* built, and its fixed part handed over for reuse: view_fd is the socket for it */
        JAIL_VIEW_TAKES,  /* a copy of a view that another sandbox handed over: view_fd is its mount namespace
                           */
};

struct jail_spec {
        uint32_t walls; /* WALL_* to set up */
        /* Root with all needed capabilities: the namespaces belong to the host's user namespace, and the
         * code's user namespace is made last.  Otherwise an outer user namespace is made first, which gives
         * the right to make the others. */
        bool privileged;
        unsigned host_uid, host_gid; /* of the code, outside; for root, from INIT_GROUPS */
        unsigned inner_uid, inner_gid;
        unsigned n_ids; /* ids inside: 1, or JAIL_IDS for an image that runs as root: then the inner ids 0 to
                           JAIL_IDS - 1 are host_uid, host_gid and those that follow; from INIT_GROUPS */
        bool set_id;    /* the code may set set-user-id and set-group-id bits; from INIT_GROUPS */
        bool several;   /* several commands: provides the descriptor JAIL_CENSUS_FD, see jail_enter() */
        bool network;   /* it can have connections, see way_out.h */
        bool direct;    /* not isolated: limits and processes that can be ended, but the host's files and
                             network. If the owner is root, the code gets a uid that owns nothing; otherwise the
                             owner's */
        enum jail_view view;
        int view_fd; /* -1: not needed */
        uint32_t view_tag;
        struct cella_limits limits;
        bool limit_processes_by_rlimit;  /* because no cgroup does */
        const struct jail_mount *image;  /* the root of an image; NULL: a view of this machine */
        const struct jail_mount *mounts; /* a mount with target /workspace replaces the private one */
        size_t n_mounts;
        /* The next three fields, the host uid and limit_processes_by_rlimit are known from the start if
         * `together` is set; otherwise they are received later. */
        bool together;
        struct jail_groups groups;
        int netns_fd; /* made by the owner; -1: make one */
        int user_fd;  /* a user namespace with its maps; -1: make one */
        /* Set while the isolation is set up. */
        int proc_fd;             /* the host's /proc */
        int own_proc_fd;         /* a writable /proc of this PID namespace, with several users; else -1 */
        uint64_t cpu_outside_us; /* CPU time that this process used before it joined the control groups */
        int census_fd;
        int pins[JAIL_PINS_MAX]; /* ascending; init keeps them open, see view_proc.c */
        unsigned n_pins;
        int listener_fd; /* reports refused calls (jail/seccomp.h); -1: none */
};
