/* jail/seccomp.h -- the system call filter.
 *
 * Init loads it last, because it refuses the calls that the other walls need, to init as well. */
#pragma once
#include <stdbool.h>

struct seccomp_data;

/* Loads the filter that is generated from syscalls.def.  set_id: files may get set-user-id and set-group-id
 * bits.  Needs CAP_SYS_ADMIN or no_new_privs.  A refused call that is reported (REPORT) waits for the reader
 * of seccomp_listener(), so the caller must make no such call afterwards.  Before Linux 5.0, or if an outer
 * filter already has a listener, such calls are refused without a report. */
int seccomp_load(bool set_id);

/* Returns the descriptor that reports refused calls; -1: none.  It is close-on-exec: another process with it
 * could answer instead of init and allow calls. */
int seccomp_listener(void);
#define SECCOMP_LISTENER_LEAST 6 /* its number is not below this: init uses the lower ones */

/* Returns the errno that the filter has for a reported call. */
int seccomp_errno(const struct seccomp_data *call);

/* Returns the name of a reported call, or NULL.  The string is static. */
const char *seccomp_name(const struct seccomp_data *call);
