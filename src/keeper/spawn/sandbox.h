/* keeper/spawn/sandbox.h -- one sandbox: reads its counters, and ends it.  assemble.h makes it. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/auto.h"
#include "base/id.h"
#include "cella.h"
#include "jail/cgroup.h"
#include "jail/netns.h"
#include "jail/spec.h"

struct spawn;

/* What is done with a sandbox that another process made for us, see engine/docker.h. */
struct sandbox_remote {
        void (*kill)(void *context);
        void (*reap)(void *context); /* waits until it is dead */
        bool (*usage)(void *context, struct cgroup_usage *ret);
        void (*free)(void *context); /* ends it, and waits until nothing is left */
};

struct sandbox {
        char id[ID_SIZE];
        struct cella_limits limits;
        uint32_t walls;        /* those that stand */
        uint32_t missing;      /* CELLA_LIMIT_* that this host cannot enforce */
        struct cgroup *cgroup; /* NULL where this user may have none */
        pid_t pid;             /* init's, as the host sees it; 0 once it is reaped */
        int pidfd;
        int control;             /* to init, see wire/init.h */
        unsigned host_uid;       /* the code's, outside */
        bool user_root;          /* it is called root inside */
        int image;               /* the root of its image, which is not removed meanwhile; -1: none */
        struct spawn *spawn;     /* memory of the child, see spawn_new(); owned */
        bool host_workspace;     /* a directory of the host, not a private one */
        bool ready;              /* init said so */
        int64_t ready_us;        /* when, by init's clock; 0: that is not our clock */
        uint64_t cpu_made_us;    /* CPU time that init had used by then, see init_ready */
        bool used;               /* something ran in it */
        uint64_t cut_off_cpu_us; /* see sandbox_cut_off() */
        struct netns_kept netns; /* its network namespace, if parts.keep_netns */
        int user;                /* its user namespace, kept once it is dead if parts.keep_user; -1 */
        bool keep_user;
        bool direct;                         /* it is none: the code is run on the host */
        bool network;                        /* it has a way out: */
        int way_out[2];                      /* see INIT_NETWORK; -1 until it is ready */
        const struct sandbox_remote *remote; /* NULL: it is our child.  Else it has neither pid nor cgroup */
        void *context;                       /* of remote; NULL once it has ended */
};

struct sandbox_image {
        const char *root;  /* where it is */
        int fd;            /* the same, see image_root_open(); borrowed */
        unsigned uid, gid; /* who the code is, inside */
};

/* What the maker of many has ready, or knows better. */
struct sandbox_parts {
        const char *id;           /* NULL: a new one */
        int program;              /* init's, see program_open_init(); borrowed.  -1: one of its own */
        struct netns_kept *netns; /* an unused network namespace, its loopback up; is taken if it is to be
                                   * kept. NULL or none: a new one */
        int workspace_fd;        /* what options->workspace is the name of; borrowed.  -1: the name decides */
        bool workspace_is_mount; /* workspace_fd is a detached mount, not a place in the host's tree */
        bool freezable;          /* see cgroup_new() */
        bool keep_netns;         /* sandbox->netns is wanted */
        bool keep_user;          /* sandbox->user is wanted */
        bool network;            /* it gets a way out */
        bool direct;             /* see jail/spec.h */
        const bool *privileged;  /* sandbox_is_privileged(), of one that never changes.  NULL: it is asked */
        const uint64_t *ignored; /* sys_ignored_signals(), likewise */
        enum jail_view view;     /* of a sandbox without image and mounts, by root only */
        int view_fd;             /* see jail/spec.h; borrowed */
        uint32_t view_tag;       /* of one that is to be left */
        const struct cgroup_home *home;
        struct cgroup **cgroup; /* one that serves again, see cgroup_renew(): is taken.  NULL: a new one */
        int *user; /* the user namespace of a dead sandbox that had the same group and the same uid inside: is
                    * taken, unless it is -1 or the user is another.  NULL: none */
        const struct sandbox_image *image; /* NULL: a view of this machine */
};
#define SANDBOX_PARTS_NONE ((struct sandbox_parts){.program = -1, .workspace_fd = -1, .view_fd = -1})

/* Waits for init to be there.  An error says which wall could not be raised. */
int sandbox_wait_ready(struct sandbox *sandbox, struct cella_err *err);

bool sandbox_has_ended(const struct sandbox *sandbox);

/* What it used; false where nobody counts. */
bool sandbox_usage(struct sandbox *sandbox, struct cgroup_usage *ret);

/* Kills everything in it, now. */
void sandbox_kill(struct sandbox *sandbox);
/* The same, in the middle of something: nobody will tell what that has used, so it is looked up before, where
 * no group counts it. */
void sandbox_cut_off(struct sandbox *sandbox);

/* Kills everything in it and waits, within reason, until it is gone: its counters are final
 * then. */
void sandbox_reap(struct sandbox *sandbox);

/* Whether it is gone, and reaped.  Does not wait, and kills nothing. */
bool sandbox_try_reap(struct sandbox *sandbox);

/* Kills and reaps it, and removes its groups.  NULL is fine. */
struct sandbox *sandbox_free(struct sandbox *sandbox);
DEFINE_AUTO(struct sandbox *, sandbox_free)
