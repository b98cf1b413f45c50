/* jail/seccomp.h -- the wall of system calls.
 *
 * The last that init raises: what it needs for the others is then refused to itself, too. */
#pragma once
#include <stdint.h>

struct seccomp_data;

/* Loads the filter that the table in syscalls.def makes.  Needs CAP_SYS_ADMIN, or
 * no_new_privs.  Refused calls that matter (TELL) wait for who reads seccomp_listener(): from
 * here on the caller must make none.  Where the kernel cannot do that (before 5.0), or who is
 * around us listens already, they are refused like the rest, and nobody is told.
 * hold_secret: a shell that waited in the sandbox says what its arguments are (PR_SET_MM_MAP) with this as a
 * sixth argument of prctl(), which the kernel does not look at but the filter does; it forgets it then.  0:
 * none waits.  No code must do that: it could make /proc/PID/cmdline as long as memory, for whoever looks at
 * it from outside.  A second filter would keep it from that, too, but to load one takes a tenth of all. */
int seccomp_load(uint64_t hold_secret);

/* Where such calls are heard of; -1: nowhere.  Close-on-exec: whoever else had it could answer in
 * init's place, and let calls through. */
int seccomp_listener(void);
#define SECCOMP_LISTENER_LEAST 6 /* it is not below that: there init puts what stays open */

/* The errno that the filter has for a call that was heard of. */
int seccomp_errno(const struct seccomp_data *call);

/* Its name, without end, or NULL. */
const char *seccomp_name(const struct seccomp_data *call);
