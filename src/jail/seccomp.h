/* jail/seccomp.h -- the allowlist of system calls.
 *
 * What is allowed stands in jail/syscalls.def. */
#pragma once

/* Puts the calling thread, and all it starts, behind the filter for good.  Needs
 * no_new_privs (or CAP_SYS_ADMIN) first.  Neither allocates nor touches errno, so it
 * may run between clone and exec; what follows must get by with the calls that are
 * allowed.  Returns 0 or -errno. */
int seccomp_load(void);
