/* sys/process.h -- processes, signals, identity.  Each function returns a value or -errno. */
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

/* Starts a child in new namespaces that runs child(arg), which must end in exec or exit.  Until then, the
 * child shares the caller's memory: nothing is copied, both run concurrently, *stack and *arg must stay
 * valid, and the child must not touch anything that the caller uses, including errno and malloc.
 * *ret_pidfd is the child's pidfd.  cgroup_fd: the child's cgroup; -1: the caller's.  Returns the pid.
 *
 * Returns -ENOSYS for a cgroup if only clone() is available (an older container's filter, valgrind), which
 * cannot put the child into a cgroup. */
pid_t sys_spawn(uint64_t flags, int cgroup_fd, int *ret_pidfd, struct sys_stack *stack, void (*child)(void *),
                void *arg);

/* clone() with a child that runs child(arg) on the stack below top and must end in exec or exit.  With
 * CLONE_VM, it shares the caller's memory, as above.  For kernels or containers that refuse clone3.
 * Returns the pid. */
pid_t sys_clone(uint64_t flags, void *top, void (*child)(void *), void *arg);

/* fork() with namespaces.  Returns the pid, or 0 in the child. */
pid_t sys_fork(uint64_t flags, int *ret_pidfd);

int sys_unshare(int flags);
int sys_setns(int fd, int kind);
int sys_end_child(pid_t pid, int pidfd); /* sends SIGKILL to a child that was not reaped yet */
int sys_kill(pid_t pid, int signal);

/* waitpid() with resource usage.  Returns the pid. */
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
/* sys_bound_capabilities() removes all others than these from the bounding set, so that no exec can gain them
 * (needs CAP_SETPCAP).  sys_limit_capabilities() drops all others from the process; it must have these.
 * sys_clear_capabilities() drops all.  sys_drop_capabilities() does both for all.  Sets are bit masks, of
 * capabilities below 32. */
int sys_bound_capabilities(uint32_t keep);
int sys_limit_capabilities(uint32_t keep);
int sys_clear_capabilities(void);
int sys_drop_capabilities(void);
/* Makes all permitted capabilities effective again, which a change of the uid has taken away. */
int sys_raise_capabilities(void);
int sys_new_session_keyring(void);
int sys_landlock_abi(void); /* supported version; 0: none or disabled */
int sys_execveat(int fd, const char *path, char *const argv[], char *const env[], int flags);
_Noreturn void sys_exit(int code);

/* sys_ignored_signals() returns the set of ignored signals (bit 0: signal 1).  sys_default_signals() sets
 * the signals in the set to their default action.  Ignored signals stay ignored across exec. */
uint64_t sys_ignored_signals(void);
void sys_default_signals(uint64_t signals);

/* Blocks all signals.  *old is set to the previous mask (old may be NULL). */
int sys_block_signals(uint64_t *old);
int sys_restore_signals(const uint64_t *old);

int sys_poll(struct pollfd *fds, unsigned n, int64_t timeout_us);
