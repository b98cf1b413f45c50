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
 * session, agent and shared sandboxes of the caller that holds the most: see sandbox_reclaimable(). */
#pragma once
#include "core/sandbox/sandbox.h"

/* Takes room at once, or puts the sandbox in the queue.  sandbox_granted() is called then, in the
 * first case from within; or sandbox_refused() with CELLA_OVER_CAPACITY. */
void queue_enter(struct box_sandbox *sandbox);
/* It does not want any more.  Fine for one that does not wait. */
void queue_leave(struct box_sandbox *sandbox);
/* The sandbox has ended and gives its room back. */
void queue_release(struct box_sandbox *sandbox);
/* A sandbox of a pool belongs to its sandbox->key from now on.  -ENOMEM. */
int queue_hold(struct box_sandbox *sandbox);
/* Whether this caller may hold one more.  key_max: its sandboxes_max, 0 if it has none. */
bool queue_key_has_room(const struct box *box, const char *key, uint32_t key_max);
unsigned queue_waiting_of(const struct box *box, const char *key);
/* Ends pooled and idle sandboxes for those that wait; to be called now and then while some do. */
void queue_make_room(struct box *box);
/* Settings may have made room. */
void queue_pump(struct box *box);
/* How many waiters could be served if there were room: their callers are within their shares. */
unsigned queue_wants(const struct box *box);
/* Refuses those who waited too long; to be called now and then. */
void queue_expire(struct box *box);
/* For the header Retry-After. */
unsigned queue_retry_after_s(const struct box *box);

/* What the queue says, see sandbox.c. */
void sandbox_granted(struct box_sandbox *sandbox);
void sandbox_refused(struct box_sandbox *sandbox, const struct cella_err *err);
