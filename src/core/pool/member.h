/* core/pool/member.h -- one pool and its members: sandboxes with an interpreter that waits for code. */
#pragma once
#include "core/pool/template.h"
#include "core/pool/waiting.h"
#include "engine/link/fd_poll.h"

#define RETRY_US INT64_C(60000000) /* before a failed template is tried again */

/* An interpreter that waits in a sandbox.  The sandbox owns it until an execution takes it over. */
struct waiting {
        struct task task;
        struct list link; /* in pool->ready */
        struct pool *pool;
        struct core_sandbox *sandbox;
        struct waiting_how how;
        uint32_t tag; /* 0: no process was started */
        int pid;
        uint64_t cpu_us; /* CPU time until it was ready */
        int control;
        struct fd_poll poll;    /* of control */
        bool said, ready, soon; /* said: it reported that it waits; soon: waiting_soon() was called */
        int64_t begun_us;
};

struct pool {
        struct list link; /* in the core */
        struct core *core;
        char runtime[65];
        char lends[65]; /* the runtime for which it lends its members, see lease.c; "": it lends none */
        char image_name[256];
        struct used_image *image; /* the image of this name; NULL: host, or not found */
        bool no_image;            /* the image was not found; `problem` is set */
        json_t *preload;
        struct cella_limits limits;
        unsigned size;
        bool network;    /* its members have a network */
        bool lasting;    /* it is in the settings; otherwise it is removed some time after wanted_us */
        int64_t idle_us; /* it has members only for so long after wanted_us; 0: always */
        struct learner *learner; /* it belongs to this one, see learned.h; NULL: none */
        json_t *learned;         /* the modules that were learned */
        uint64_t template_bytes;
        int64_t wanted_us; /* when the last execution that it serves arrived; 0: none yet */
        /* Called when a member has become ready; requests may need its place. */
        void (*on_ready)(struct pool *pool);
        struct waiting_how how;
        struct template_maker *maker;
        struct cella_err problem;   /* why there is no template; kind CELLA_OK: none */
        int64_t retry_us;           /* when to try to make a template again */
        int64_t not_before_us;      /* when to try to make members again */
        int64_t added_us;           /* when the last member was started */
        unsigned failures, unlucky; /* consecutive failures */
        struct list ready;          /* struct waiting, the oldest first */
        unsigned n_ready, n_making, n_in_use;
        uint64_t hits, misses;
        int64_t refill_us; /* time to make the last member */
};

static inline bool pool_lacks_template(const struct pool *pool)
{
        return pool->how.kind == WAITING_TEMPLATE && pool->how.template_fd < 0;
}

/* Whether it is a pool of spare sandboxes, in which no interpreter waits. */
static inline bool pool_is_spare(const struct pool *pool)
{
        return !pool->runtime[0];
}

/* Makes a pool without members, which is in no list yet; takes preload. */
struct pool *pool_new(struct core *core, const char *runtime, const char *image, json_t *preload,
                      const struct cella_limits *limits);
void pool_free(struct pool *pool);
/* Finds a pool of the settings that is the same except for its size. */
struct pool *pool_find_same(struct list *pools, const char *image, const char *runtime, const char *lends,
                            const json_t *preload, const struct cella_limits *limits);

/* Whether it has no members because no execution has needed one for a while. */
bool pool_sleeps(const struct pool *pool);
/* Returns how many members it should have now. */
unsigned pool_wanted_size(const struct pool *pool);
/* Starts to make another member. */
int pool_add_member(struct pool *pool);
/* Returns the oldest member that is alive.  on_lost() removes dead ones. */
struct waiting *pool_first_alive(const struct pool *pool);
/* Gives a ready member to the caller of spec. */
struct core_sandbox *pool_take_member(struct pool *pool, struct waiting *waiting,
                                      const struct sandbox_spec *spec);
/* Ends a member that was not taken. */
void pool_drop(struct waiting *waiting);
/* Ends all members, including those being made. */
void pool_drop_members(struct pool *pool);
/* Call when a member could not be made: delays the next one. */
void pool_failed(struct pool *pool);
/* Frees the object; its sandbox stays.  For an execution that has taken over the tag and the socket. */
void waiting_free(struct waiting *waiting);
