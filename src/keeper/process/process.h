/* keeper/process/process.h -- the keeper as a process: the only one of the daemon with privilege.
 *
 * One thread and one event loop; it never blocks on another process.  It parses packets of fixed size only.
 */
#pragma once
#include "keeper/process/keeper.h"

/* Runs until the server has ended, and ends all sandboxes.  Returns the exit status of the process. */
int keeper_run(const struct keeper_setup *setup);
