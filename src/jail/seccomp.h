/* jail/seccomp.h -- the wall of system calls.
 *
 * The last that init raises: what it needs for the others is then refused to itself, too. */
#pragma once

struct seccomp_data;

/* Loads the filter that the table in syscalls.def makes.  Needs CAP_SYS_ADMIN, or
 * no_new_privs.  Refused calls that matter (TELL) wait for who reads seccomp_listener(): from
 * here on the caller must make none.  Where the kernel cannot do that (before 5.0), or who is
 * around us listens already, they are refused like the rest, and nobody is told. */
int seccomp_load(void);

/* Where such calls are heard of; -1: nowhere.  Close-on-exec: whoever else had it could answer in
 * init's place, and let calls through. */
int seccomp_listener(void);
#define SECCOMP_LISTENER_LEAST 6 /* it is not below that: there init puts what stays open */

/* The errno that the filter has for a call that was heard of. */
int seccomp_errno(const struct seccomp_data *call);

/* Its name, without end, or NULL. */
const char *seccomp_name(const struct seccomp_data *call);
