/* core/sandbox/queue.h -- room for sandboxes: which callers hold how many, and which wait for one.
 *
 * A caller is a key, or the owner.  Callers take turns; requests of one caller are served in the order in
 * which they came.  The queue is bounded in number and time.
 *
 * Shares.  As soon as there is a key, no caller can take all the room.  A caller that holds a sandbox may
 * have another one while it holds fewer than four times the room that is left, after one place was set aside
 * for each other caller that has none (at most a fifth of all places).  One busy caller gets about 80 of 100.
 * Sandboxes that wait in a pool belong to no caller and count as free.
 *
 * Reclaiming.  When a caller within its share finds no room, pooled sandboxes are ended for it, then idle
 * session, agent and shared sandboxes of the caller that holds the most: see sandbox_reclaimable().
 *
 * The queue does not know sandboxes.  Each has a struct place in it. */
#pragma once
#include "core/core.h"

struct place;

/* Calls to the sandbox of a place. */
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
        bool ahead;       /* made ahead of time, and not taken by a caller yet */
        bool ending;
        struct list link;         /* in the queue of its key */
        struct list held;         /* in core->places, while it takes up room */
        struct queue_key *holder; /* the caller that it is counted for; NULL: not alive, or in a pool */
        int64_t queued_us;        /* when its time in the queue began */
};

void place_init(struct place *place, struct core *core, const char *key, const struct place_events *events);

/* Takes room at once, or puts the place in the queue.  on_granted() is called then, in the first case from
 * within; or on_refused() with CELLA_OVER_CAPACITY. */
void queue_enter(struct place *place);
/* Takes it out of the queue.  Does nothing if it is not in it. */
void queue_leave(struct place *place);
/* Its sandbox is being ended: queue_release() follows. */
void queue_ending(struct place *place);
/* Its sandbox has ended and gives its room back. */
void queue_release(struct place *place);
/* A pooled place counts for the caller place->key from now on.  -ENOMEM. */
int queue_hold(struct place *place);
/* Whether this caller may hold one more.  key_max: its sandboxes_max, 0 if it has none. */
bool queue_key_has_room(const struct core *core, const char *key, uint32_t key_max);
unsigned queue_waiting_of(const struct core *core, const char *key);
/* Ends pooled and idle sandboxes for those that wait; to be called regularly while some do. */
void queue_make_room(struct core *core);
/* Settings may have made room. */
void queue_pump(struct core *core);
/* How many waiters could be served if there were room: their callers are within their shares. */
unsigned queue_wants(const struct core *core);
/* Refuses those that waited too long; to be called regularly. */
void queue_expire(struct core *core);
/* For the header Retry-After. */
unsigned queue_retry_after_s(const struct core *core);
