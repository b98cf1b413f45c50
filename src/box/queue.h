/* box/queue.h -- room for sandboxes: who waits for it, for how long, and whose turn it is.
 *
 * Keys take turns; within one, first come first served.  Bounded in number and time. */
#pragma once
#include "box/sandbox.h"

/* Takes room at once, or puts the sandbox in the queue.  sandbox_granted() is called then, in the
 * first case from within; or sandbox_refused() with CELLA_OVER_CAPACITY. */
void queue_enter(struct box_sandbox *sandbox);
/* It does not want any more.  Fine for one that does not wait. */
void queue_leave(struct box_sandbox *sandbox);
/* Room was given back. */
void queue_release(struct box *box);
/* Settings may have made room. */
void queue_pump(struct box *box);
/* Those that wait for nothing but room. */
unsigned queue_wants(const struct box *box);
/* Refuses those who waited too long; to be called now and then. */
void queue_expire(struct box *box);
/* For the header Retry-After. */
unsigned queue_retry_after_s(const struct box *box);

/* What the queue says, see sandbox.c. */
void sandbox_granted(struct box_sandbox *sandbox);
void sandbox_refused(struct box_sandbox *sandbox, const struct cella_err *err);
