/* keeper/process/keeper.h -- the state of the keeper process and the functions that its request handlers use.
 *
 * One thread.  A function that fails in a way that the keeper cannot survive sets k->over. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "jail/workspace.h"
#include "keeper/process/outbox.h"
#include "keeper/process/restart.h"
#include "keeper/process/spare.h"
#include "keeper/spawn/child.h"
#include "keeper/spawn/docker_process.h"
#include "keeper/spawn/egress_process.h"
#include "keeper/spawn/sandbox.h"
#include "wire/keeper.h"

#define KEEPER_TICK_US 2000

/* ---- the sandboxes of the keeper, by handle ----
 *
 * A handle consists of an index in the table and a counter of how often this entry was used, so an old handle
 * is not found, until the counter wraps around. */

enum sandbox_state {
        SANDBOX_FREE = 0,
        SANDBOX_LIVE = 1u << 0,
        SANDBOX_FREEZING = 1u << 1, /* the answer is sent when nothing runs any more */
        SANDBOX_FROZEN = 1u << 2,
        SANDBOX_DEAD = 1u << 3,   /* its init has ended and was reaped */
        SANDBOX_ENDING = 1u << 4, /* the answer is sent when it is dead */
        SANDBOX_LOST = 1u << 5,   /* answered, but the kernel cannot end it; the server has forgotten it */
};

struct sandbox_entry {
        uint32_t handle;
        enum sandbox_state state;
        uint32_t number;  /* of the request that is not answered yet */
        int64_t deadline; /* of this answer */
        struct sandbox *sandbox;
};

struct sandbox_table {
        struct sandbox_entry all[KEEPER_SANDBOXES_MAX];
        unsigned used, next;
};

/* Returns a free entry, now LIVE and with a new handle, or NULL if all are in use. */
struct sandbox_entry *sandbox_table_add(struct sandbox_table *table, struct sandbox *sandbox);

/* Returns the entry with this handle, or NULL. */
struct sandbox_entry *sandbox_table_find(struct sandbox_table *table, uint32_t handle);

/* Frees the entry.  The caller owns the sandbox from now on. */
void sandbox_table_remove(struct sandbox_table *table, struct sandbox_entry *entry);

struct keeper_setup {
        int socket;       /* to the server, see wire/keeper.h */
        unsigned workers; /* further processes that make sandboxes: at most KEEPER_WORKERS_MAX */
        bool is_worker;   /* this process is one of them: it ends when the server closes the socket */
        pid_t server;     /* not for a worker */
        int server_pidfd;
        struct workspace_policy policy;
        int volumes; /* state/volumes, see volume.h; -1: no volumes on this machine */
        const char
                *images_state; /* the state directory that contains the images; the store is STATE/images */
        const char *store;
        const char *imager_program; /* cella-image, which runs as policy.owner; NULL: not installed */
        bool imager_change_user;
        unsigned imager_gid;
        void (*before_reload)(void *); /* on SIGHUP, before the server is told; NULL: nothing */
        void *reload_context;
};

/* Control groups of ended sandboxes that are removed later: in idle moments, or in a batch when there are
 * REMAINS_MAX of them.  Removing a group takes locks of the whole machine. */
#define REMAINS_MAX 64
#define REMAINS_BATCH 8

struct keeper_remains {
        struct list link;
        struct cgroup *cgroup;
        int64_t until; /* time at which it must be removed, even if the keeper has to wait */
};

struct keeper_egress {
        struct egress_process process;
        struct restart restart;
};

/* See workers.h. */
struct keeper_worker {
        pid_t pid; /* 0: it does not run */
        int pidfd;
        struct restart restart;
};

struct keeper_imager {
        struct child child;
        bool lives;      /* it runs */
        uint32_t wanted; /* number of the request that waits for its death; 0: none */
};

struct keeper_docker {
        struct docker_process process;
        bool lives;      /* it runs */
        uint32_t wanted; /* number of the request that waits for its death; 0: none */
};

struct keeper {
        const struct keeper_setup *setup;
        int (*run)(const struct keeper_setup *setup); /* keeper_run(), for a worker */
        struct sandbox_table table;
        struct outbox outbox;
        int epoll, signals;
        int program;              /* the init program, used by all sandboxes */
        struct cgroup_home *home; /* NULL: this user cannot make control groups */
        struct cgroup *quota;     /* an empty group with a CPU limit, see process.c */
        bool privileged;          /* sandbox_is_privileged() */
        uint64_t files_max; /* the limit on the keeper's descriptors. If the code runs as the keeper's user,
                               the kernel refuses the keeper's SCM_RIGHTS messages while that user has more
                               descriptors in flight than this limit. The code therefore gets half of it. */
        uint64_t ignored;   /* sys_ignored_signals(), which is constant */
        struct spare spare;
        struct keeper_egress egress;
        struct keeper_imager imager;
        struct keeper_docker docker;
        struct keeper_worker workers[KEEPER_WORKERS_MAX]; /* setup->workers are used */
        struct list remains;                              /* struct keeper_remains, the oldest first */
        unsigned n_remains;
        unsigned freezing, ending; /* entries in these states */
        int64_t tick_at;           /* time of the next tick, for changes that no descriptor reports */
        int64_t stop_by;           /* time at which a stopping server is killed; 0: not stopping */
        bool server_gone;
        bool over; /* the loop must end */
        bool failed;
        bool broken; /* because the server broke the protocol */
};

/* The event data of a watched descriptor: one of these, or the handle of a sandbox, which is always
 * larger. */
enum keeper_event {
        ON_SERVER = 1,
        ON_SERVER_DEATH,
        ON_EGRESS_DEATH,
        ON_IMAGER_DEATH,
        ON_DOCKER_DEATH,
        ON_SIGNAL,
        ON_VIEW,
        ON_WORKER_DEATH, /* plus the index of the worker */
        ON_WORKER_DEATH_LAST = ON_WORKER_DEATH + KEEPER_WORKERS_MAX - 1,
};

/* Makes the loop wait until fd is readable.  what: enum keeper_event or a handle.  Returns 0 or -errno. */
int keeper_watch(struct keeper *k, int fd, uint64_t what);
void keeper_unwatch(struct keeper *k, int fd);
/* Makes the loop wait for requests of the server (EPOLLIN), or until its socket is writable (EPOLLOUT). */
void keeper_watch_server_for(struct keeper *k, uint32_t events);

/* Logs why, and ends the keeper with a failure. */
void keeper_lost(struct keeper *k, const char *why);

/* Send an answer to the server.  fd is taken; -1: none.  If the socket is full, the answer is queued in
 * k->outbox. */
void keeper_reply(struct keeper *k, const void *packet, size_t len, int fd);
int keeper_reply_with(struct keeper *k, const void *packet, size_t len, const struct outbox_rights *rights);
void keeper_fail(struct keeper *k, uint32_t number, const struct cella_err *err);

/* Returns reused control groups with these limits, which the caller frees; .cgroup is NULL if there are
 * none. */
struct spare_groups keeper_take_groups(struct keeper *k, const struct cella_limits *limits);

/* Reads the counters of a sandbox. */
void keeper_count(struct sandbox *sandbox, struct keeper_counted *ret);

/* Removes the next batch of groups of ended sandboxes, except those that the kernel still uses.  Returns how
 * many it removed. */
unsigned keeper_remove_groups(struct keeper *k, int64_t now);

/* Call when a sandbox has ended or cannot be ended.  Answers the waiting request, keeps the reusable parts
 * and frees the rest. */
void keeper_finish(struct keeper *k, struct sandbox_entry *entry);
