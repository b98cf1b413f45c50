/* keeper/spawn/sandbox.h -- an existing sandbox: reads its counters and ends it.  assemble.h makes it. */
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

/* The operations of a sandbox that another process made (engine/docker.h). */
struct sandbox_remote {
        void (*kill)(void *context);
        void (*reap)(void *context); /* waits until it is dead */
        bool (*usage)(void *context, struct cgroup_usage *ret);
        void (*free)(void *context); /* ends it, waits until everything is removed */
};

struct sandbox {
        char id[ID_SIZE];
        struct cella_limits limits;
        uint32_t walls;        /* WALL_*: those that stand */
        uint32_t missing;      /* CELLA_LIMIT_* that this host cannot enforce */
        struct cgroup *cgroup; /* NULL: this user cannot have one */
        pid_t pid;             /* of init, in the host's pid namespace; 0 once it is reaped */
        int pidfd;
        int control;             /* socket to init, see wire/init.h */
        unsigned host_uid;       /* uid of the code on the host */
        int id_range;            /* holds its range of ids, see id_range.h; -1: it has one user */
        bool user_root;          /* the code is root inside */
        int image;               /* the root of its image, locked against removal; -1: none */
        struct spawn *spawn;     /* memory of the child, see spawn_new(); owned */
        bool host_workspace;     /* its workspace is a host directory, not a private one */
        bool ready;              /* init has sent INIT_READY */
        int64_t ready_us;        /* time of that by init's clock; 0: init has another clock */
        uint64_t cpu_made_us;    /* CPU time that init had used by then, see struct init_ready */
        bool used;               /* it has executed something */
        uint64_t cut_off_cpu_us; /* CPU time at sandbox_cut_off() */
        struct netns_kept netns; /* its network namespace, with parts.keep_netns */
        int user;                /* its user namespace, opened at its death with parts.keep_user; -1: none */
        bool keep_user;
        bool direct;                         /* not isolated: the code runs directly on the host */
        bool network;                        /* it can have connections */
        int way_out[2];                      /* the sockets of INIT_NETWORK; -1 until it is ready */
        const struct sandbox_remote *remote; /* NULL: init is our child */
        void *context;                       /* argument of remote; NULL once the sandbox has ended */
};

struct sandbox_image {
        const char *root;  /* its path */
        int fd;            /* the same directory, see image_root_open(); borrowed */
        unsigned uid, gid; /* of the code, inside */
};

/* Parts that the caller has ready, and options that only the keeper sets. */
struct sandbox_parts {
        const char *id; /* NULL: a new id */
        int program;    /* the init program, see program_open_init(); borrowed. -1: opened and closed here */
        struct netns_kept *netns; /* an unused namespace with loopback up; taken with keep_netns. NULL or
                                     none: a new one */
        int workspace_fd;     /* open descriptor of options->workspace; borrowed. -1: it is opened by path */
        const int *mount_fds; /* open descriptors of options->mounts; borrowed. NULL: opened by path */
        bool workspace_is_mount; /* workspace_fd is a detached mount, not a directory of the host */
        bool freezable;          /* see cgroup_new() */
        bool keep_netns;         /* keep the namespace in sandbox->netns */
        bool keep_user;          /* keep the namespace in sandbox->user */
        bool network;            /* it can have connections */
        bool direct;             /* see jail/spec.h */
        const bool *privileged;  /* cached sandbox_is_privileged(); NULL: it is called */
        const uint64_t *ignored; /* cached sys_ignored_signals(); NULL: it is called */
        enum jail_view view;     /* not JAIL_VIEW_OWN: only for root, without image and mounts */
        int view_fd;             /* see jail/spec.h; borrowed */
        uint32_t view_tag;       /* tag of the view that is handed over */
        const struct cgroup_home *home;
        struct cgroup **cgroup; /* a reused group, see cgroup_renew(); taken. NULL: a new one */
        int *user; /* the user namespace of a dead sandbox with the same group and the same inner uid; taken
                      if keep_user is set. NULL or -1: none */
        const struct sandbox_image *image; /* NULL: a view of this machine */
};
#define SANDBOX_PARTS_NONE ((struct sandbox_parts){.program = -1, .workspace_fd = -1, .view_fd = -1})

/* Waits until init is ready.  On failure, *err names the wall that could not be set up. */
int sandbox_wait_ready(struct sandbox *sandbox, struct cella_err *err);

bool sandbox_has_ended(const struct sandbox *sandbox);

/* Reads the resource usage.  Returns false if nothing counts it. */
bool sandbox_usage(struct sandbox *sandbox, struct cgroup_usage *ret);

/* Kills all processes in it at once. */
void sandbox_kill(struct sandbox *sandbox);
/* Like sandbox_kill(), during an execution: first reads the CPU time of the processes if no group counts it,
 * because init will not report it. */
void sandbox_cut_off(struct sandbox *sandbox);

/* Kills all processes and waits up to 10 s until they are gone.  The counters are final then. */
void sandbox_reap(struct sandbox *sandbox);

/* Whether it is dead and reaped.  Does not wait or kill. */
bool sandbox_try_reap(struct sandbox *sandbox);

/* Kills and reaps it, removes its groups and frees it.  NULL is allowed. */
struct sandbox *sandbox_free(struct sandbox *sandbox);
DEFINE_AUTO(struct sandbox *, sandbox_free)
