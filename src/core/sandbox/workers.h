/* core/sandbox/workers.h -- the keeper's workers: further processes that make sandboxes
 * (keeper/process/workers.h).
 *
 * The keeper starts and replaces them and sends their sockets.  Until a worker is connected, the others make
 * its share of the sandboxes. */
#pragma once
#include "core/core.h"

/* Connects to a new worker.  Takes fd. */
void workers_connect(struct core *core, uint32_t index, int fd);
void workers_free(struct core *core);

/* Returns the process that should make the next sandbox: the one with the fewest unanswered requests.  NULL:
 * the keeper, also if it has as few as another one.  The choice is stored by the caller, because all other
 * requests go to the same process. */
struct worker *workers_choose(struct core *core);

/* Discards the answers for this context. */
void workers_forget(struct core *core, const void *context);

/* Returns what the keeper and all workers have done with control groups. */
struct keeper_groups workers_groups(const struct core *core);

/* Returns how many are connected. */
unsigned workers_count(const struct core *core);
