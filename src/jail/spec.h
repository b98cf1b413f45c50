/* jail/spec.h -- all that is needed to build one sandbox. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cella.h"
#include "jail/walls.h"

#define JAIL_UID 1000u /* who the code is, inside */
#define JAIL_HELPERS 8 /* processes of init's own that a sandbox of several commands has room for */
#define JAIL_CGROUP_FDS_MAX 5
#define JAIL_PINS_MAX 16

/* The control groups that the code is in. */
struct jail_groups {
        int fds[JAIL_CGROUP_FDS_MAX]; /* to write 0 to, which joins a group */
        unsigned n_fds;
};

struct jail_mount {
        const char *source; /* on the host */
        const char *target; /* inside, absolute, see options_check_target() */
        bool writable;
        int idmap_fd; /* user namespace that makes the source's owner the code's uid; -1: none */
        int tree_fd;  /* the source as a mount that is nowhere yet; -1: it is opened by its name */
};

/* Where the view comes from, see view_shared.c. */
enum jail_view {
        JAIL_VIEW_OWN,    /* built for this sandbox alone */
        JAIL_VIEW_LEAVES, /* built, and what is fixed of it left for others: view_fd is the socket that it
                             goes to */
        JAIL_VIEW_TAKES,  /* left by another: view_fd is its mount namespace, to be copied */
};

struct jail_spec {
        uint32_t walls; /* those to raise */
        /* Root with all it takes: the namespaces belong to the host's user namespace, and
         * the code's own comes last.  Otherwise an outer user namespace comes first, to
         * have the right to make the others. */
        bool privileged;
        unsigned host_uid, host_gid; /* who the code is, outside; root's: from INIT_GROUPS */
        unsigned inner_uid, inner_gid;
        bool terminals; /* a /dev/pts of its own */
        bool several;   /* there will be a descriptor JAIL_CENSUS_FD, see jail_enter() */
        bool network;   /* it has a way out, see way_out.h */
        bool direct; /* no sandbox: limits, and processes that can be ended, but the host's files and network.
                      * The code is a user that owns nothing, if root runs us, else who we are */
        enum jail_view view;
        int view_fd; /* -1: not needed */
        uint32_t view_tag;
        struct cella_limits limits;
        bool limit_processes_by_rlimit;  /* where no cgroup does */
        const struct jail_mount *image;  /* the root of an image; NULL: a view of this machine */
        const struct jail_mount *mounts; /* one with target /workspace replaces the private one */
        size_t n_mounts;
        /* The next three, who the code is outside, and the limit by rlimit are known from the start, if the
         * owner had all of it ready; else they come on the way. */
        bool together;
        struct jail_groups groups;
        int netns_fd; /* made by the owner; -1: make one */
        int user_fd;  /* a user namespace with its map; -1: make one */
        /* Set on the way. */
        int proc_fd;             /* the host's /proc */
        uint64_t cpu_outside_us; /* CPU time that this process used before it joined the control groups */
        int census_fd;
        int pins[JAIL_PINS_MAX]; /* ascending: init keeps them open, see view_proc.c */
        unsigned n_pins;
        int listener_fd; /* where refused calls are heard of (jail/seccomp.h); -1: nowhere */
};
