/* jail/seccomp.h -- the wall of system calls.
 *
 * In two parts.  Loading the filter takes as long as init's last steps together, and before
 * them it has time, while its network is being made: so the large filter comes first, which
 * still lets init take these steps, then a small one that refuses what they needed. */
#pragma once

/* Loads the filter that the system calls of syscalls.def make, but for those marked LATE.
 * Needs CAP_SYS_ADMIN, or no_new_privs. */
int seccomp_load(void);

/* Then these. */
int seccomp_close(void);
