/* jail/rlimits.h -- the wall "rlimit": the resource limits (setrlimit) that code inherits from init. */
#pragma once
#include <stdint.h>

#include "cella.h"

#define RLIMITS_NO_PROCESSES UINT64_MAX /* leaves RLIMIT_NPROC as it is */

/* Sets the resource limits of the calling process from the limits of its sandbox.  file_bytes (RLIMIT_FSIZE)
 * and processes (RLIMIT_NPROC) depend on the kind of the sandbox.  A limit that is lower already stays. */
int rlimits_set(const struct cella_limits *own, uint64_t file_bytes, uint64_t processes,
                struct cella_err *err);
