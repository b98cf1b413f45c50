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
        SANDBOX_WAITING, /* for room, in the queue */
        SANDBOX_MAKING,  /* the keeper makes it, init builds the walls */
        SANDBOX_RUNNING,
        SANDBOX_PAUSED,
        SANDBOX_DYING,  /* init has ended; the keeper has yet to confirm that all processes have */
        SANDBOX_DEAD,   /* the last counters are being read, then the tasks are lost */
        SANDBOX_ENDING, /* the keeper removes it */
        SANDBOX_STATES
};

struct task {
        struct list link; /* in the sandbox */
        struct core_sandbox *sandbox;
        /* Messages may be sent (init takes them when its walls stand).  May be NULL. */
        void (*on_channel)(struct task *task);
        /* Every wall stands.  May be NULL. */
        void (*on_ready)(struct task *task);
        /* It could not be made (err says why), or it died (err is NULL; its counters are the last).
         * The task is detached already. */
        void (*on_lost)(struct task *task, struct core_sandbox *sandbox, const struct cella_err *err);
        /* Whether on_lost() has to wait until every process of the sandbox is dead.  May be NULL: it has not.
         */
        bool (*needs_deaths)(const struct task *task);
        bool ignore_for_idle; /* the sandbox counts as idle although the task is attached */
        /* Everything in it stands still, or goes on.  May be NULL. */
        void (*on_paused)(struct task *task, bool paused);
        bool begun;
};

#define SANDBOX_CONTEXTS_MAX 16

/* A process in the background: part of its execution. */
struct sandbox_process {
        struct list link; /* in its sandbox */
        bool ended;
};

struct sandbox_spec {
        const struct caller *caller;
        enum sandbox_scope scope;
        bool one_shot; /* for a single execution */
        bool direct;   /* no sandbox at all: limits only, see wire/keeper.h; one_shot too */
        const char *session, *agent;
        struct cella_limits limits;
        uint32_t required;
        enum workspace_access workspace;
        struct network network; /* borrowed */
        const json_t *asked;    /* the network that was asked for; NULL: whatever there is */
        enum engine_choice engine;
        struct used_image *image; /* borrowed; NULL: host */
        bool image_asked;         /* it was asked for; else whatever there is */
        uint64_t ttl_ms;          /* 0: none */
        uint64_t idle_timeout_ms; /* 0: as in the settings */
        json_t *metadata;         /* borrowed; NULL: none */
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
        enum engine_choice engine;
        bool engine_lost; /* the engine has ended, and the tasks get that error: see sandbox_engine_lost() */
        char session[129], agent[129];
        struct cella_limits limits;
        uint32_t required;
        enum workspace_access workspace;
        struct network network;          /* that it was made with */
        char directory[KEEPER_NAME_MAX]; /* of the persistent workspace; "": none */
        char image_name[256];            /* "host", or what it was asked for by */
        struct used_image *image;        /* what that meant when it was made; NULL: host, or not made yet */
        uint64_t ttl_ms, idle_timeout_ms;
        int64_t created_ms;
        int64_t expires_ms; /* 0: never */
        int64_t used_us;    /* monotonic */
        json_t *metadata;
        /* While it is alive: */
        uint32_t handle;
        uint32_t walls, missing;
        bool counted;         /* it has counters of CPU time, memory and processes */
        bool ready;           /* INIT_READY has come; stays set until the sandbox is made again */
        bool throttled;       /* KEEPER_THROTTLE was sent */
        bool removing;        /* it is freed when it has ended */
        bool all_dead;        /* KEEPER_DIED has come: every process has ended */
        bool network_came;    /* INIT_NETWORK has come */
        int64_t ready_us;     /* when init was ready, by its clock; 0: that is not our clock */
        uint64_t cpu_made_us; /* CPU time that init had used by then, see init_ready */
        struct channel *channel;
        void (*frozen)(void *, const struct cella_err *); /* who waits for a freeze or thaw */
        void *frozen_context;
        struct keeper_counted counters; /* as last read */
        struct counters files;          /* to read them from without asking, if the keeper lent any */
        bool has_files;
        struct waiting *waiting; /* made ahead, not taken yet or not released yet */
        struct pool *pool;       /* that it was taken from */
        uint64_t slots[4];       /* numbers of commands that run, see sandbox_slot() */
        struct sandbox_egress egress;
        struct list observers; /* struct observer: what is under way */
        struct list tasks;
        int64_t making_us;
        uint64_t executions;   /* so far */
        uint64_t told;         /* what watchers know of it, as a number: see front/rest/events.c */
        struct list processes; /* struct sandbox_process; also some that ended */
        unsigned n_processes;
        struct context *contexts[SANDBOX_CONTEXTS_MAX]; /* NULL: none in this place */
};

/* Allocates one with nothing filled in; for registry.c. */
struct core_sandbox *sandbox_alloc(struct core *core);
/* A new one, stopped: the first task starts it. */
int sandbox_add(struct core *core, const struct sandbox_spec *spec, struct core_sandbox **ret,
                struct cella_err *err);
/* A new one like another of one_shot, made for the same caller. */
int sandbox_add_like(const struct core_sandbox *other, struct core_sandbox **ret, struct cella_err *err);
/* One that was made ahead becomes this caller's. */
void sandbox_adopt(struct core_sandbox *sandbox, const struct sandbox_spec *spec);
/* By id; NULL if there is none, or this caller does not see it. */
struct core_sandbox *sandbox_find(const struct core *core, const struct caller *caller, const char *id);
/* The one of this scope, made if there is none yet. */
int sandbox_of_scope(struct core *core, const struct sandbox_spec *spec, struct core_sandbox **ret,
                     struct cella_err *err);

void sandbox_attach(struct core_sandbox *sandbox, struct task *task);
void sandbox_detach(struct task *task);
void sandbox_touch(struct core_sandbox *sandbox); /* it was used */

/* Ends everything in it, and forgets it with its workspace. */
void sandbox_remove(struct core_sandbox *sandbox);
/* Ends everything in it; workspace and name stay. */
void sandbox_stop(struct core_sandbox *sandbox);
/* done(…, NULL) or with what went wrong; once, unless forgotten. */
void sandbox_freeze(struct core_sandbox *sandbox, bool freeze, void (*done)(void *, const struct cella_err *),
                    void *context);
void sandbox_freeze_forget(struct core *core, const void *context); /* done is not called any more */
/* Asks the keeper, or cella-docker, to make it.  answer() gets KEEPER_MADE, DOCKER_MADE or KEEPER_FAILED. */
int sandbox_make(struct core_sandbox *sandbox, keeper_answer answer, struct cella_err *err);
/* Takes the files with counters that came with KEEPER_MADE, if there are any; only in answer(). */
void sandbox_take_counters(struct core_sandbox *sandbox);
void sandbox_close_counters(struct core_sandbox *sandbox);
/* Reads its counters now, with or without CPU time.  False if that needs an answer of the keeper. */
bool sandbox_counted(const struct core_sandbox *sandbox, bool cpu, struct keeper_counted *ret);
/* The keeper's counters. */
int sandbox_count(struct core_sandbox *sandbox, keeper_answer answer, void *context);
/* Asks who made it about it; answer NULL: none comes, or it does not matter. */
int sandbox_ask(struct core_sandbox *sandbox, enum keeper_request type, keeper_answer answer, void *context);
/* No answer of the keeper or of the engine docker reaches this context any more. */
void sandbox_ask_forget(struct core *core, const void *context);
/* For struct docker_events: every sandbox of the engine docker is lost; whether one of them is alive. */
void sandbox_engine_lost(struct core *core, const struct cella_err *err);
bool sandbox_engine_used(const struct core *core);
/* KEEPER_DIED. */
void sandbox_hear_keeper(struct core *core, const struct keeper_about *about);

/* The lowest number that no command of this sandbox has; -1: too many.  Give it back. */
int sandbox_slot_take(struct core_sandbox *sandbox);
void sandbox_slot_give(struct core_sandbox *sandbox, int slot);

/* Whether there are processes of it, or the keeper still removes it. */
bool sandbox_alive(const struct core_sandbox *sandbox);
bool sandbox_has_network(const struct core_sandbox *sandbox);
/* Whether messages can be sent to its init, which lives as far as we know. */
bool sandbox_takes_messages(const struct core_sandbox *sandbox);
/* How many processes run in the background. */
unsigned sandbox_processes_running(const struct core_sandbox *sandbox);
/* Whether it may be ended because another caller needs the room: nothing runs in it, it has no context and no
 * process, and the next use of its session, agent or shared scope starts it again with its files.  Never one
 * that a caller has created by POST /v1/sandboxes. */
bool sandbox_reclaimable(const struct core_sandbox *sandbox);
void sandbox_reclaim(struct core_sandbox *sandbox);
/* Ends idle and expired ones; removes workspaces that were kept long enough.  Not all: only those
 * with a time of their own, which is meant to the moment. */
void sandbox_cleanup(struct core *core, bool all);
/* Whether a sandbox has this directory as its persistent workspace. */
bool sandbox_has_workspace(const struct core *core, const char *directory);
/* Brings back what was remembered, stopped. */
int sandbox_restore_all(struct core *core, struct cella_err *err);
/* Writes down what is needed to bring it back; nothing for one without a persistent workspace. */
int sandbox_remember(const struct core_sandbox *sandbox, struct cella_err *err);
json_t *sandbox_to_json(const struct core_sandbox *sandbox);
json_t *isolation_to_json(uint32_t walls, uint32_t missing);
void sandbox_isolation(const struct core_sandbox *sandbox, struct cella_isolation *ret);
