/* sys/process.h -- processes, signals, identity.  Each returns a value or -errno. */
#pragma once
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "base/auto.h"

struct sys_stack {
        char bytes[16384] __attribute__((aligned(16)));
};

/* A child in new namespaces that runs child(arg), which must end in exec or exit.  Until then it
 * shares the caller's memory: nothing is copied, neither waits for the other, and *stack and
 * *arg must stay.  It must not touch what the caller uses, errno and malloc included.
 * *ret_pidfd is the child's; cgroup_fd -1 means the caller's cgroup.  Returns the pid.  -ENOSYS
 * with a cgroup: only clone() is available (an older container's filter, valgrind), which cannot
 * put the child into a group. */
pid_t sys_spawn(uint64_t flags, int cgroup_fd, int *ret_pidfd, struct sys_stack *stack, void (*child)(void *),
                void *arg);

/* clone() whose child runs child(arg), which must end in exec or exit, on the stack below top; with
 * CLONE_VM in the caller's memory, as above.  For where clone3 is refused.  Returns the pid. */
pid_t sys_clone(uint64_t flags, void *top, void (*child)(void *), void *arg);

/* fork() with namespaces.  Returns the pid, 0 in the child. */
pid_t sys_fork(uint64_t flags, int *ret_pidfd);

int sys_unshare(int flags);
int sys_setns(int fd, int kind);
int sys_end_child(pid_t pid, int pidfd); /* SIGKILL to a child that was not reaped yet */
int sys_kill(pid_t pid, int signal);

/* Waits for the process to end; *status as for waitpid.  Returns the pid. */
pid_t sys_wait(pid_t pid, int *status, int options, struct rusage *usage);

int sys_prctl(int option, unsigned long a, unsigned long b);
int sys_setgroups_none(void);
int sys_setresgid(unsigned gid);
int sys_setresuid(unsigned uid);
pid_t sys_setsid(void);
int sys_sethostname(const char *name);
int sys_setdomainname(const char *name); /* the NIS domain */
int sys_setrlimit(int resource, uint64_t limit);
unsigned sys_umask(unsigned mask);
/* None can be had any more by an exec (needs CAP_SETPCAP); there are none; both. */
int sys_bound_capabilities(void);
int sys_clear_capabilities(void);
int sys_drop_capabilities(void);
int sys_new_session_keyring(void);
int sys_landlock_abi(void); /* the version this kernel has; 0: none, or switched off */
int sys_execveat(int fd, const char *path, char *const argv[], char *const env[], int flags);
_Noreturn void sys_exit(int code);

/* Those that this process ignores, signal 1 in bit 0; and makes it ignore none of these.  What is ignored
 * stays so across an exec. */
uint64_t sys_ignored_signals(void);
void sys_default_signals(uint64_t signals);

/* All signals blocked; *old gets the mask of before (may be NULL). */
int sys_block_signals(uint64_t *old);
int sys_restore_signals(const uint64_t *old);

int sys_poll(struct pollfd *fds, unsigned n, int64_t timeout_us);
