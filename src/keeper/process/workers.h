/* keeper/process/workers.h -- further processes that make sandboxes, for machines with many cores.
 *
 * A worker is a fork of the keeper with the same code and rights.  It has its own socket to the server, its
 * own control groups, spare parts and sandboxes, and knows none of the keeper's.  It exits when the server
 * closes the socket, and is killed when the keeper dies.  A worker that dies is replaced: the server ends its
 * sandboxes, and the next worker removes what they left. */
#pragma once
#include "keeper/process/keeper.h"

/* Exit status of a worker that got a request which the protocol does not allow.  It ends the daemon, as a
 * request to the keeper does. */
#define WORKER_BROKEN 3

void keeper_workers_init(struct keeper *k);

/* Starts those that do not run and are due.  In a new worker, does not return. */
void keeper_workers_start(struct keeper *k, int64_t now);

/* Returns when keeper_workers_start() has something to do; INT64_MAX: nothing. */
int64_t keeper_workers_due(const struct keeper *k);

void keeper_worker_died(struct keeper *k, unsigned index);

/* Waits until all have exited, and kills those that live at this time.  The server must be dead. */
void keeper_workers_end(struct keeper *k, int64_t until);
