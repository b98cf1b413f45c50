/* jail/rlimits.h -- the limits of a process that code inherits: files, their size, core dumps, and what the
 * kernel keeps for it.  The wall "rlimit". */
#pragma once
#include <stdint.h>

#include "cella.h"

#define RLIMITS_NO_PROCESSES UINT64_MAX /* their number is left as it is */

int rlimits_set(uint64_t open_files, uint64_t file_bytes, uint64_t processes, struct cella_err *err);
