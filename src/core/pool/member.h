/* core/pool/member.h -- one pool and its members: sandboxes with an interpreter that waits for code. */
#pragma once
#include "core/pool/template.h"
#include "core/pool/waiting.h"
#include "engine/link/fd_poll.h"

#define RETRY_US INT64_C(60000000) /* a template that cannot be made */

/* An interpreter that waits in a sandbox.  The sandbox owns it until an execution takes it over. */
struct waiting {
        struct task task;
        struct list link; /* in the pool, when it is ready */
        struct pool *pool;
        struct core_sandbox *sandbox;
        struct waiting_how how;
        uint32_t tag; /* 0: nothing was started */
        int pid;
        uint64_t cpu_us; /* that it took to get ready */
        int control;
        struct fd_poll poll;    /* of control */
        bool said, ready, soon; /* said: that it waits */
        int64_t begun_us;
};

struct pool {
        struct list link; /* in the core */
        struct core *core;
        char runtime[65];
        char image_name[256];
        struct used_image *image; /* what that means; NULL: host, or it means nothing: */
        bool no_image;            /* then problem says so */
        json_t *preload;
        struct cella_limits limits;
        unsigned size;
        bool network; /* its members have one */
        bool lasting; /* it is in the settings; otherwise it ends when it has not been used for a while: */
        int64_t wanted_us;
        /* A member has become ready; there may be requests that need its room. */
        void (*on_ready)(struct pool *pool);
        struct waiting_how how;
        struct template_maker *maker;
        struct cella_err problem;   /* why there is no template; kind CELLA_OK: none */
        int64_t retry_us;           /* when to try again to make one */
        int64_t not_before_us;      /* when to try again to make members */
        int64_t added_us;           /* when the last one was begun */
        unsigned failures, unlucky; /* in a row */
        struct list ready;          /* struct waiting, the oldest first */
        unsigned n_ready, n_making, n_in_use;
        uint64_t hits, misses;
        int64_t refill_us; /* of the last member, from asking for it to being ready */
};

/* Starts to make one more member. */
int pool_add_member(struct pool *pool);
/* Ends a member that was not taken. */
void pool_drop(struct waiting *waiting);
/* Ends all members, also those that are being made. */
void pool_drop_members(struct pool *pool);
/* A member could not be made: delays the next one. */
void pool_failed(struct pool *pool);
/* Frees it; its sandbox stays.  For an execution that has taken over the tag and the socket. */
void waiting_free(struct waiting *waiting);
