/* jail/seccomp.h -- the wall of system calls.
 *
 * In two parts, because loading the filter takes as long as what comes before and after it
 * together, and init has time for it while it waits for its network: the large filter first,
 * which still lets init enter its last namespaces, then a tiny one that ends that. */
#pragma once

/* Loads the filter that the system calls of syscalls.def make, but for those marked LATE.
 * Needs CAP_SYS_ADMIN, or no_new_privs. */
int seccomp_load(void);

/* Then these. */
int seccomp_close(void);
