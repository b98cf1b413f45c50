/* jail/seccomp.h -- the wall of system calls.
 *
 * The last that init raises: what it needs for the others is then refused to itself, too. */
#pragma once

struct seccomp_data;

/* Loads the filter that the table in syscalls.def makes.  Needs CAP_SYS_ADMIN, or
 * no_new_privs.  A refused call that is reported (TELL) waits for the reader of seccomp_listener(), so
 * from here on the caller must make none.  Before Linux 5.0, or if an outer filter has a listener already,
 * such calls are refused without a report. */
int seccomp_load(void);

/* Where such calls are heard of; -1: nowhere.  Close-on-exec: whoever else had it could answer in
 * init's place, and let calls through. */
int seccomp_listener(void);
#define SECCOMP_LISTENER_LEAST 6 /* it is not below that: there init puts what stays open */

/* The errno that the filter has for a call that was heard of. */
int seccomp_errno(const struct seccomp_data *call);

/* Its name, without end, or NULL. */
const char *seccomp_name(const struct seccomp_data *call);
