/* core/sandbox/sandbox.h -- a sandbox of the API, and its states.
 *
 *   STOPPED --use--> WAITING (for room) --> MAKING --> RUNNING <--> PAUSED
 *      ^                                       |          |            |
 *      |                                       +----------+------------+-- init has ended --> DYING --> DEAD
 *      |                                                  |  idle, expired, deleted                      |
 *      +-- keeps its workspace, or is freed -- ENDING <---+----------------------------------------------+
 *
 * Code that uses a sandbox attaches a task.  The task is called when it may begin, and when the sandbox was
 * lost.  After on_lost() no other function of the task is called. */
#pragma once
#include "base/list.h"
#include "core/core.h"
#include "core/egress.h"
#include "core/image/used_image.h"
#include "core/network.h"
#include "core/sandbox/queue.h"
#include "engine/link/channel.h"
#include "wire/keeper.h"

enum sandbox_state {
        SANDBOX_STOPPED, /* there is no process */
        SANDBOX_WAITING, /* in the queue for a place */
        SANDBOX_MAKING,  /* the keeper makes it, init sets up the isolation */
        SANDBOX_RUNNING,
        SANDBOX_PAUSED,
        SANDBOX_DYING,  /* init has ended; the keeper has not confirmed the end of all processes yet */
        SANDBOX_DEAD,   /* the last counters are being read, then the tasks are lost */
        SANDBOX_ENDING, /* the keeper removes it */
        SANDBOX_STATES
};

struct task {
        struct list link; /* in sandbox->tasks */
        struct core_sandbox *sandbox;
        /* Messages can be sent (init reads them when the isolation stands).  May be NULL. */
        void (*on_channel)(struct task *task);
        /* The isolation stands.  May be NULL. */
        void (*on_ready)(struct task *task);
        /* It could not be made (err is set) or has died (err is NULL; its last counters are valid).  The task
         * is already detached. */
        void (*on_lost)(struct task *task, struct core_sandbox *sandbox, const struct cella_err *err);
        /* Whether on_lost() must wait until all processes of the sandbox are dead.  NULL: no. */
        bool (*needs_deaths)(const struct task *task);
        bool ignore_for_idle; /* the sandbox counts as idle although the task is attached */
        /* All processes are paused or continue.  May be NULL. */
        void (*on_paused)(struct task *task, bool paused);
        bool begun;
};

#define SANDBOX_CONTEXTS_MAX 16
#define SANDBOX_NAME_SIZE 65
#define SANDBOX_LABELS_MAX 64            /* in its metadata */
#define SANDBOX_LABELS_BYTES (64 * 1024) /* of their names and values: lists have all of them */

/* A background process: part of its execution. */
struct sandbox_process {
        struct list link; /* in sandbox->processes */
        bool ended;
};

enum { CHOSEN_IMAGE = 1u << 0, CHOSEN_ENGINE = 1u << 1, CHOSEN_WORKSPACE = 1u << 2 };

struct sandbox_spec {
        const struct caller *caller;
        enum sandbox_scope scope;
        bool one_shot; /* for a single execution */
        bool direct;   /* no isolation, only limits, see wire/keeper.h; implies one_shot */
        const char *session, *agent;
        struct cella_limits limits;
        uint32_t required;
        enum workspace_access workspace;
        struct network network;     /* borrowed */
        const json_t *asked;        /* the requested network; NULL: any */
        json_t *mounts;             /* see core/mount.h; borrowed; NULL: none */
        const json_t *asked_mounts; /* the requested ones; NULL: any */
        enum engine_choice engine;
        struct used_image *image; /* borrowed; NULL: host */
        unsigned chosen;          /* CHOSEN_...: by the request itself, not by the settings */
        uint64_t ttl_ms;          /* 0: none */
        uint64_t idle_timeout_ms; /* 0: as in the settings */
        json_t *metadata;         /* borrowed; NULL: none */
        const char *name;         /* checked by sandbox_check_name(); NULL: none */
        bool persistent;          /* created by a client: survives the daemon, see struct core_sandbox */
};

struct core_sandbox {
        struct list link; /* in the core */
        struct core *core;
        char id[ID_SIZE];
        char key[ID_SIZE];
        struct place place; /* in the queue */
        enum sandbox_state state;
        enum sandbox_scope scope;
        bool one_shot, direct;
        bool persistent; /* it can be saved and started again: its files outlive its processes */
        enum engine_choice engine;
        bool lost; /* the process that made it has ended: see lose_marked() */
        char session[129], agent[129];
        char name[SANDBOX_NAME_SIZE]; /* given by its owner; "": none */
        struct cella_limits limits;
        uint32_t required;
        enum workspace_access workspace;
        struct network network;          /* as it was made */
        json_t *mounts;                  /* see core/mount.h; NULL: none */
        char directory[KEEPER_NAME_MAX]; /* of the persistent workspace; "": none */
        char image_name[256];            /* "host", or the requested name */
        struct used_image *image;        /* the image at the time it was made; NULL: host, or not made yet */
        uint64_t ttl_ms, idle_timeout_ms;
        int64_t created_ms;
        int64_t expires_ms; /* 0: never */
        int64_t used_us;    /* monotonic */
        json_t *metadata;
        unsigned chosen; /* CHOSEN_...: by the request that made it */
        char note[128];  /* for the next result: the settings have changed, see renew.h; "": none */
        /* While it is alive: */
        struct worker *worker; /* that made it; NULL: the keeper, or cella-docker */
        uint32_t handle;
        uint32_t walls, missing;
        bool counted;         /* it has counters of CPU time, memory and processes */
        bool ready;           /* INIT_READY was received; stays set until the sandbox is made again */
        bool throttled;       /* KEEPER_THROTTLE was sent */
        bool leased;          /* by pool_lease() */
        bool removing;        /* it is freed when it has ended */
        bool renewing;        /* it ends and starts again; tasks attached meanwhile wait for that */
        bool filling;         /* its files are being copied; only its first task has begun: see move.h */
        bool all_dead;        /* KEEPER_DIED was received: all processes have ended */
        bool network_came;    /* INIT_NETWORK was received */
        int64_t ready_us;     /* when init was ready, by its clock; 0: init has another clock */
        uint64_t cpu_made_us; /* CPU time that init had used by then, see struct init_ready */
        struct channel *channel;
        void (*frozen)(void *, const struct cella_err *); /* callback for a pending freeze or thaw */
        void *frozen_context;
        void (*limits_changed)(void *,
                               const struct cella_err *); /* callback for a pending sandbox_change_limits() */
        void *limits_context;
        struct cella_limits new_limits;
        uint32_t new_required;
        struct keeper_counted counters; /* the last reading */
        struct counters files;          /* counter files lent by the keeper, if has_files */
        bool has_files;
        struct waiting *waiting; /* the waiting interpreter, if made in advance and not released yet */
        struct pool *pool;       /* the pool that it was taken from */
        uint64_t slots[4];       /* bits: numbers of active commands, see execution/life.c */
        struct sandbox_egress egress;
        struct list observers; /* struct observer: of active executions */
        struct list tasks;
        int64_t making_us;
        uint64_t executions;    /* so far */
        uint64_t reported_look; /* hash of the state that clients of /v1/events know */
        struct list processes;  /* struct sandbox_process; includes some that have ended */
        unsigned n_processes;
        struct context *contexts[SANDBOX_CONTEXTS_MAX]; /* NULL: free slot */
};

/* Allocates an empty sandbox; for registry.c. */
struct core_sandbox *sandbox_alloc(struct core *core);
/* Makes a new sandbox in state STOPPED; the first task starts it.  Saves it if it belongs to a scope; a
 * client that creates one saves it with sandbox_remember() when it is ready. */
int sandbox_add(struct core *core, const struct sandbox_spec *spec, struct core_sandbox **ret,
                struct cella_err *err);
/* Makes a sandbox like another one_shot one, for the same caller. */
int sandbox_add_like(const struct core_sandbox *other, struct core_sandbox **ret, struct cella_err *err);
/* Gives a sandbox made in advance to this caller. */
void sandbox_adopt(struct core_sandbox *sandbox, const struct sandbox_spec *spec);
/* Finds a sandbox by its id, or by the name that this caller has given it; NULL if there is none or the
 * caller may not see it.  A name never finds a sandbox of another key, not even for the owner. */
struct core_sandbox *sandbox_find(const struct core *core, const struct caller *caller, const char *id);
/* Whether this key may give the sandbox a name; but: the sandbox that has it may keep it, NULL for a new one.
 */
int sandbox_check_name(const struct core *core, const char *key, const char *name,
                       const struct core_sandbox *but, struct cella_err *err);
/* Whether a sandbox may have all these labels. */
int sandbox_check_labels(const json_t *labels, struct cella_err *err);
/* Returns the sandbox of this scope and these names; NULL: there is none. */
struct core_sandbox *sandbox_find_of_scope(const struct core *core, const struct sandbox_spec *spec);
/* Returns the sandbox of this scope; makes it if there is none. */
int sandbox_of_scope(struct core *core, const struct sandbox_spec *spec, struct core_sandbox **ret,
                     struct cella_err *err);

void sandbox_attach(struct core_sandbox *sandbox, struct task *task);
void sandbox_detach(struct task *task);
void sandbox_touch(struct core_sandbox *sandbox); /* notes that it is used */

/* Ends all processes and removes it with its workspace. */
void sandbox_remove(struct core_sandbox *sandbox);
/* Ends all processes; workspace and name stay. */
void sandbox_stop(struct core_sandbox *sandbox);
/* Removes it; its tasks are lost for this reason. */
void sandbox_give_up(struct core_sandbox *sandbox, const struct cella_err *err);
/* Its files have been copied: its tasks may begin. */
void sandbox_filled(struct core_sandbox *sandbox);
/* Freezes or thaws it.  Calls done() once with NULL or an error, unless sandbox_freeze_forget() is called. */
void sandbox_freeze(struct core_sandbox *sandbox, bool freeze, void (*done)(void *, const struct cella_err *),
                    void *context);
void sandbox_freeze_forget(struct core *core, const void *context); /* cancels done() */

/* Gives the sandbox these limits: see limits_request().  At most memory, processes, CPUs and limits of
 * executions may differ.  required: CELLA_LIMIT_* that the caller named.
 * done() is called once, perhaps at once; err NULL: success.  After sandbox_limits_forget() it is not. */
void sandbox_change_limits(struct core_sandbox *sandbox, const struct cella_limits *limits, uint32_t required,
                           void (*done)(void *context, const struct cella_err *err), void *context);
void sandbox_limits_forget(struct core *core, const void *context);
/* For sandbox.c: the sandbox ends, and the keeper's answer will not be heard. */
void sandbox_limits_lost(struct core_sandbox *sandbox);
/* Asks the keeper, or cella-docker, to make it.  answer() gets KEEPER_MADE, DOCKER_MADE or KEEPER_FAILED. */
int sandbox_make(struct core_sandbox *sandbox, keeper_answer answer, struct cella_err *err);
/* Takes the files with counters that came with KEEPER_MADE, if there are any; only in answer(). */
void sandbox_take_counters(struct core_sandbox *sandbox);
void sandbox_close_counters(struct core_sandbox *sandbox);
/* Reads its counters now, with or without CPU time.  Returns false if the keeper must be asked. */
bool sandbox_counted(const struct core_sandbox *sandbox, bool cpu, struct keeper_counted *ret);
/* Asks the keeper for the counters. */
int sandbox_count(struct core_sandbox *sandbox, keeper_answer answer, void *context);
/* Sends a request about it to the process that made it.  answer NULL: none is expected or needed. */
int sandbox_ask(struct core_sandbox *sandbox, enum keeper_request type, keeper_answer answer, void *context);
/* The same for a packet with more than the request's type. */
int sandbox_send(struct core_sandbox *sandbox, void *packet, size_t len, keeper_answer answer, void *context);
/* Discards answers of the keeper, its workers or the engine docker for this context. */
void sandbox_ask_forget(struct core *core, const void *context);
/* For struct docker_events: all sandboxes of the engine docker are lost; whether one of them is alive. */
void sandbox_engine_lost(struct core *core, const struct cella_err *err);
bool sandbox_engine_used(const struct core *core);
/* All sandboxes of this worker are lost. */
void sandbox_worker_lost(struct core *core, const struct worker *worker, const struct cella_err *err);
/* Handles KEEPER_DIED of a worker; NULL: of the keeper. */
void sandbox_receive_keeper(struct core *core, const struct worker *worker, const struct keeper_about *about);

/* Whether it has processes, or the keeper is still removing it. */
bool sandbox_alive(const struct core_sandbox *sandbox);
bool sandbox_has_network(const struct core_sandbox *sandbox);
/* Whether messages can be sent to its init, which is assumed to be alive. */
bool sandbox_takes_messages(const struct core_sandbox *sandbox);
/* Returns the number of running background processes. */
unsigned sandbox_processes_running(const struct core_sandbox *sandbox);
/* Whether it may be ended because another caller needs the place: nothing runs in it, it has no context and
 * no process, and the next use of its session, agent or shared scope starts it again with its files.  Never a
 * sandbox that a caller created by POST /v1/sandboxes. */
bool sandbox_reclaimable(const struct core_sandbox *sandbox);
void sandbox_reclaim(struct core_sandbox *sandbox);
/* Ends idle and expired sandboxes; removes workspaces that were kept long enough.  all false: only those with
 * their own timeout, which must be exact. */
void sandbox_cleanup(struct core *core, bool all);
/* Fails with CELLA_OVER_CAPACITY if the caller has no room for another sandbox with files on disk. */
int sandbox_check_kept(const struct core *core, const struct caller *caller, struct cella_err *err);
/* Whether a sandbox has this directory as its persistent workspace. */
bool sandbox_has_workspace(const struct core *core, const char *directory);
/* Restores the saved sandboxes in state STOPPED. */
int sandbox_restore_all(struct core *core, struct cella_err *err);
/* Saves what is needed to restore it; nothing for one that is not persistent. */
int sandbox_remember(const struct core_sandbox *sandbox, struct cella_err *err);
json_t *sandbox_to_json(const struct core_sandbox *sandbox);
json_t *isolation_to_json(uint32_t walls, uint32_t missing);
