#include "sys/own_filter.h"

#include <errno.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/auto.h"

static const char *const common[] = {
        /* descriptors */
        "read",
        "write",
        "readv",
        "writev",
        "pread64",
        "pwrite64",
        "close",
        "fcntl",
        "dup",
        "dup3",
        "pipe2",
        "lseek",
        "ftruncate",
        "fallocate",
        "fsync",
        "fdatasync",
        "eventfd2",
        /* event loop */
        "epoll_create1",
        "epoll_ctl",
        "epoll_wait",
        "epoll_pwait",
        "poll",
        "ppoll",
        "select",
        "pselect6",
        /* sockets */
        "recvfrom",
        "recvmsg",
        "sendto",
        "sendmsg",
        "shutdown",
        "getsockopt",
        "setsockopt",
        "getsockname",
        "getpeername",
        /* files */
        "open",
        "openat",
        "stat",
        "fstat",
        "lstat",
        "newfstatat",
        "statx",
        "statfs",
        "fstatfs",
        "access",
        "faccessat",
        "faccessat2",
        "readlink",
        "readlinkat",
        "getdents64",
        "mkdir",
        "mkdirat",
        "unlink",
        "unlinkat",
        "rmdir",
        "rename",
        "renameat",
        "renameat2",
        "chmod",
        "fchmod",
        "fchmodat",
        "fchmodat2",
        "utimensat",
        "getcwd",
        "umask",
        "flock",
        /* memory and threads */
        "brk",
        "munmap",
        "mremap",
        "madvise",
        "mlock",
        "munlock",
        "futex",
        "futex_waitv",
        "set_robust_list",
        "rseq",
        "sched_yield",
        "sched_getaffinity",
        "membarrier",
        "exit",
        "exit_group",
        "restart_syscall",
        "set_tid_address",
        /* signals and time */
        "rt_sigaction",
        "rt_sigprocmask",
        "rt_sigreturn",
        "sigaltstack",
        "clock_gettime",
        "clock_getres",
        "clock_nanosleep",
        "nanosleep",
        "gettimeofday",
        "time",
        /* own process */
        "getpid",
        "gettid",
        "getuid",
        "geteuid",
        "getgid",
        "getegid",
        "getppid",
        "getrandom",
        "getrusage",
        "sysinfo",
        "uname",
        "getcpu",
};

static int add_conditional(scmp_filter_ctx filter)
{
        int r = 0;
        /* Only threads, no processes.  The filter cannot read the flags of clone3: with ENOSYS, libc falls
         * back to clone. */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM));
        r |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
        /* No memory can be made executable. */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
        r |= own_filter_ioctl(filter, FIONBIO);
        r |= own_filter_ioctl(filter, FIONREAD);
        /* Only Unix socket pairs inside the program, no connections to other processes. */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
                              SCMP_A2(SCMP_CMP_EQ, 0)); /* only read */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1, SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME));
        return r;
}

int own_filter_ioctl(scmp_filter_ctx filter, unsigned long request)
{
        return seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_EQ, request));
}

static int own_filter_allow(scmp_filter_ctx filter, const char *const *calls, size_t n)
{
        int r = 0;
        for (size_t i = 0; i < n && r == 0; i++) {
                int number = seccomp_syscall_resolve_name(calls[i]);
                if (number != __NR_SCMP_ERROR && number >= 0) /* not every architecture has all calls */
                        r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
        }
        return r;
}

int own_filter_load(const struct own_filter *own)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        /* LeakSanitizer stops and inspects all threads at exit, which the filter would forbid. */
        return 0;
#endif
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
        int r = filter ? own_filter_allow(filter, common, ARRAY_LEN(common)) : -ENOMEM;
        if (r == 0)
                r = own_filter_allow(filter, own->calls, own->n_calls);
        if (r == 0 && (add_conditional(filter) != 0 || own->add_conditional(filter) != 0))
                r = -EINVAL;
        if (r == 0 && own->all_threads)
                r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
        if (r == 0)
                seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE,
                                 2); /* binary tree, if this libseccomp supports it */
        if (r == 0)
                r = seccomp_load(filter);
        seccomp_release(filter);
        return r;
}
