/* sys/pass.h -- calls that only a sandbox's init makes, on its last steps (LATE in jail/syscalls.def).
 *
 * They have at most five arguments.  The kernel does not look at a sixth, but a filter does: with the pass in
 * it the call is init's own (jail/seccomp.h).  0 before the filter is loaded, and in every other process. */
#pragma once
#include "sys/raw.h"

extern unsigned sys_pass;

#define sys_pass_call(nr, a, b, c, d, e)                                                                     \
        sys_call6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)sys_pass)
