/* daemon/filter.c -- the server's own cage.
 *
 * It has its sockets already and makes threads only, so it needs neither socket() nor exec nor
 * fork.  Whoever takes it over through a request cannot start anything with it. */
#include "daemon/filter.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/err.h"

static const char *const allowed[] = {
        /* descriptors */
        "read",
        "write",
        "readv",
        "writev",
        "pread64",
        "pwrite64",
        "pwritev",
        "preadv",
        "close",
        "close_range",
        "fcntl",
        "dup",
        "dup3",
        "pipe2",
        "lseek",
        "ftruncate",
        "fallocate",
        "fsync",
        "fdatasync",
        "sync_file_range",
        "sendfile",
        "memfd_create",
        "eventfd2",
        /* the loop */
        "epoll_create1",
        "epoll_ctl",
        "epoll_wait",
        "epoll_pwait",
        "epoll_pwait2",
        "poll",
        "ppoll",
        "select",
        "pselect6",
        "timerfd_create",
        "timerfd_settime",
        /* connections that come */
        "accept",
        "accept4",
        "recvfrom",
        "recvmsg",
        "sendto",
        "sendmsg",
        "shutdown",
        "getsockopt",
        "setsockopt",
        "getsockname",
        "getpeername",
        "listen",
        /* files of the state */
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
        "rt_sigpending",
        "rt_sigtimedwait",
        "sigaltstack",
        "clock_gettime",
        "clock_getres",
        "clock_nanosleep",
        "nanosleep",
        "gettimeofday",
        "time",
        /* itself */
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
        "times",
        "getcpu",
};

static int add_conditional(scmp_filter_ctx filter)
{
        int r = 0;
        /* Threads, not processes.  clone3 hides its flags: libc falls back to clone. */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM));
        r |= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
        /* Nothing that can be written becomes code. */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
        /* Of terminals: their size; of connections: how much waits, on either side. */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                              SCMP_A1(SCMP_CMP_EQ, 0x5414)); /* TIOCSWINSZ */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                              SCMP_A1(SCMP_CMP_EQ, 0x5421)); /* FIONBIO */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                              SCMP_A1(SCMP_CMP_EQ, 0x541b)); /* FIONREAD */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                              SCMP_A1(SCMP_CMP_EQ, 0x5411)); /* SIOCOUTQ */
        /* Between a context and us; not to anywhere. */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socketpair), 1, SCMP_A0(SCMP_CMP_EQ, AF_UNIX));
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
                              SCMP_A2(SCMP_CMP_EQ, 0)); /* only looks */
        r |= seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 1,
                              SCMP_A0(SCMP_CMP_EQ, 15)); /* PR_SET_NAME */
        return r;
}

int filter_load(struct cella_err *err)
{
#ifdef __SANITIZE_ADDRESS__
        /* The search for leaks at the end stops and looks at all threads, which this is against. */
        (void)err;
        return 0;
#endif
        scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
        int r = filter ? 0 : -ENOMEM;
        for (size_t i = 0; i < ARRAY_LEN(allowed) && r == 0; i++) {
                int number = seccomp_syscall_resolve_name(allowed[i]);
                if (number != __NR_SCMP_ERROR && number >= 0) /* an architecture need not have all */
                        r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
        }
        if (r == 0 && add_conditional(filter) != 0)
                r = -EINVAL;
        if (r == 0)
                r = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
        if (r == 0)
                seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree, where this is known */
        if (r == 0)
                r = seccomp_load(filter);
        seccomp_release(filter);
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                               "seccomp: cannot filter the server itself")
                     : 0;
}
