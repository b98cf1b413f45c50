/* core/sandbox/queue.h -- places for sandboxes: how many each caller holds, and which requests wait for one.
 *
 * A caller is a key, or the owner.  Callers take turns; requests of one caller are served in order.  The
 * queue is bounded in number and time.
 *
 * Shares.  As soon as a key exists, no caller can take all places.  A caller that holds a sandbox may have
 * another one while it holds fewer than four times the places that are left, after one place was reserved for
 * each other caller without a sandbox (at most a fifth of all places).  One busy caller gets about 80 of 100.
 * Pooled sandboxes belong to no caller and count as free.
 *
 * Reclaiming.  When a caller within its share finds no place, pooled sandboxes are ended for it, then idle
 * session, agent and shared sandboxes of the caller that holds the most: see sandbox_reclaimable().
 *
 * The queue does not depend on sandboxes.  Each sandbox has a struct place. */
#pragma once
#include "core/core.h"

struct place;

/* Callbacks for the sandbox of a place. */
struct place_events {
        void (*on_granted)(struct place *place);
        void (*on_refused)(struct place *place, const struct cella_err *err);
        /* Whether it may be ended for another caller, and when it was last used. */
        bool (*is_reclaimable)(const struct place *place, int64_t *ret_used_us);
        void (*reclaim)(struct place *place);
};

struct place {
        struct core *core;
        const struct place_events *events;
        const char *key;  /* of the caller; borrowed */
        uint32_t key_max; /* the key's sandboxes_max; 0: none */
        bool ahead;       /* made in advance and not taken by a caller yet; or set aside: see move.h */
        bool ending;
        struct list link;         /* in the queue of its key */
        struct list held;         /* in core->places, while it counts for the limit */
        struct queue_key *holder; /* the caller that it counts for; NULL: not alive, or pooled */
        int64_t queued_us;        /* when its time in the queue began */
};

void sandbox_place_init(struct place *place, struct core *core, const char *key,
                        const struct place_events *events);

/* Takes a place at once, or enters the queue.  Calls on_granted(), possibly from within, or on_refused() with
 * CELLA_OVER_CAPACITY. */
void queue_enter(struct place *place);
/* Leaves the queue.  Does nothing if it is not in it. */
void queue_leave(struct place *place);
/* Call when its sandbox is being ended: queue_release() follows. */
void queue_ending(struct place *place);
/* Call when its sandbox has ended: frees the place. */
void queue_release(struct place *place);
/* Counts a pooled place for the caller place->key from now on.  Returns 0 or -ENOMEM. */
int queue_hold(struct place *place);
/* The place no longer counts for its caller, and its sandbox is in no list; and takes that back.  alive: the
 * place is taken. */
void queue_set_aside(struct place *place);
void queue_take_back(struct place *place, bool alive);
/* Whether this caller may hold another sandbox.  key_max: its sandboxes_max; 0: none. */
bool queue_key_has_room(const struct core *core, const char *key, uint32_t key_max);
unsigned queue_waiting_of(const struct core *core, const char *key);
/* Ends pooled and idle sandboxes for waiters.  Call regularly while there are waiters. */
void queue_make_room(struct core *core);
/* Call when there may be free places, for example after a change of settings. */
void queue_pump(struct core *core);
/* Returns how many waiters are within their callers' shares. */
unsigned queue_wants(const struct core *core);
/* Refuses those that waited too long.  Call regularly. */
void queue_expire(struct core *core);
/* Returns a value for the header Retry-After. */
unsigned queue_retry_after_s(const struct core *core);
