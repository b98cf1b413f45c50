#include "sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "sys/raw.h"

#define KERNEL_SIGSET_BYTES 8

/* clone3 and clone with a child that runs child(arg) on its own stack, which cannot be written in C. */
long sys_clone3_call(struct clone_args *args, size_t size, void (*child)(void *), void *arg);
long sys_clone_call(uint64_t flags, void *top, void (*child)(void *), void *arg);
#if defined __x86_64__
__asm__(".pushsection .text\n"
        ".type sys_clone3_call, @function\n"
        ".hidden sys_clone3_call\n"
        "sys_clone3_call:\n"
        "        mov %rdx, %r8\n" /* the kernel preserves these in both processes */
        "        mov %rcx, %r9\n"
        "        mov $435, %eax\n"
        "        syscall\n"
        "        test %eax, %eax\n"
        "        jz 1f\n"
        "        ret\n"
        "1:      xor %ebp, %ebp\n"
        "        mov %r9, %rdi\n"
        "        call *%r8\n"
        "        ud2\n"
        ".size sys_clone3_call, . - sys_clone3_call\n"
        ".type sys_clone_call, @function\n"
        ".hidden sys_clone_call\n"
        "sys_clone_call:\n"
        "        mov %rdx, %r8\n" /* ignored by the kernel without its flag */
        "        mov %rcx, %r9\n"
        "        xor %edx, %edx\n"
        "        xor %r10d, %r10d\n"
        "        mov $56, %eax\n"
        "        syscall\n"
        "        test %eax, %eax\n"
        "        jz 1f\n"
        "        ret\n"
        "1:      xor %ebp, %ebp\n"
        "        mov %r9, %rdi\n"
        "        call *%r8\n"
        "        ud2\n"
        ".size sys_clone_call, . - sys_clone_call\n"
        ".popsection\n");
#elif defined __aarch64__
__asm__(".pushsection .text\n"
        ".type sys_clone3_call, %function\n"
        ".hidden sys_clone3_call\n"
        "sys_clone3_call:\n"
        "        mov x9, x2\n"
        "        mov x10, x3\n"
        "        mov x8, #435\n"
        "        svc #0\n"
        "        cbz x0, 1f\n"
        "        ret\n"
        "1:      mov x29, #0\n"
        "        mov x0, x10\n"
        "        blr x9\n"
        "        brk #1\n"
        ".size sys_clone3_call, . - sys_clone3_call\n"
        ".type sys_clone_call, %function\n"
        ".hidden sys_clone_call\n"
        "sys_clone_call:\n"
        "        mov x9, x2\n"
        "        mov x10, x3\n"
        "        mov x2, #0\n"
        "        mov x3, #0\n"
        "        mov x4, #0\n"
        "        mov x8, #220\n"
        "        svc #0\n"
        "        cbz x0, 1f\n"
        "        ret\n"
        "1:      mov x29, #0\n"
        "        mov x0, x10\n"
        "        blr x9\n"
        "        brk #1\n"
        ".size sys_clone_call, . - sys_clone_call\n"
        ".popsection\n");
#endif

pid_t sys_spawn(uint64_t flags, int cgroup_fd, int *ret_pidfd, struct sys_stack *stack, void (*child)(void *),
                void *arg)
{
        struct clone_args args = {
                .flags = flags | CLONE_PIDFD | CLONE_VM,
                .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
                .exit_signal = SIGCHLD,
                .stack = (uint64_t)(uintptr_t)stack->bytes,
                .stack_size = sizeof stack->bytes,
        };
        if (cgroup_fd >= 0) {
                args.flags |= CLONE_INTO_CGROUP;
                args.cgroup = (uint64_t)cgroup_fd;
        }
        long pid = sys_clone3_call(&args, sizeof args, child, arg);
        if (pid != -ENOSYS || cgroup_fd >= 0)
                return (pid_t)pid;
        pid = sys_fork(flags, ret_pidfd);
        if (pid == 0)
                child(arg);
        return (pid_t)pid;
}

pid_t sys_clone(uint64_t flags, void *top, void (*child)(void *), void *arg)
{
        return (pid_t)sys_clone_call(flags, top, child, arg);
}

pid_t sys_fork(uint64_t flags, int *ret_pidfd)
{
        /* clone() has these arguments first on all architectures.  It returns pidfds since Linux 5.2. */
        return (pid_t)sys_call5(SYS_clone, flags | CLONE_PIDFD | SIGCHLD, 0, ret_pidfd, 0, 0);
}

int sys_unshare(int flags)
{
        return (int)sys_call1(SYS_unshare, flags);
}

int sys_setns(int fd, int kind)
{
        return (int)sys_call2(SYS_setns, fd, kind);
}

int sys_end_child(pid_t pid, int pidfd)
{
        long r = sys_call4(SYS_pidfd_send_signal, pidfd, SIGKILL, 0, 0);
        return r == -ENOSYS ? sys_kill(pid, SIGKILL) : (int)r; /* valgrind does not support pidfds */
}

int sys_kill(pid_t pid, int signal)
{
        return (int)sys_call2(SYS_kill, pid, signal);
}

pid_t sys_wait(pid_t pid, int *status, int options, struct rusage *usage)
{
        long r;
        do {
                r = sys_call4(SYS_wait4, pid, status, options, usage);
        } while (r == -EINTR);
        return (pid_t)r;
}

int sys_prctl(int option, unsigned long a, unsigned long b)
{
        return (int)sys_call5(SYS_prctl, option, a, b, 0, 0);
}

int sys_setgroups_none(void)
{
        return (int)sys_call2(SYS_setgroups, 0, 0);
}

int sys_setresgid(unsigned gid)
{
        return (int)sys_call3(SYS_setresgid, gid, gid, gid);
}

int sys_setresuid(unsigned uid)
{
        return (int)sys_call3(SYS_setresuid, uid, uid, uid);
}

pid_t sys_setsid(void)
{
        return (pid_t)sys_call0(SYS_setsid);
}

int sys_sethostname(const char *name)
{
        return (int)sys_call2(SYS_sethostname, name, strlen(name));
}

int sys_setdomainname(const char *name)
{
        return (int)sys_call2(SYS_setdomainname, name, strlen(name));
}

int sys_setrlimit(int resource, uint64_t limit)
{
        uint64_t both[2] = {limit, limit};
        return (int)sys_call4(SYS_prlimit64, 0, resource, both, 0);
}

unsigned sys_umask(unsigned mask)
{
        return (unsigned)sys_call1(SYS_umask, mask);
}

int sys_bound_capabilities(uint32_t keep)
{
        for (int cap = 0; cap < 64; cap++) {
                if (cap < 32 && (keep >> cap & 1))
                        continue;
                int r = sys_prctl(PR_CAPBSET_DROP, (unsigned long)cap, 0);
                if (r == -EINVAL) /* end of the capabilities of this kernel */
                        break;
                if (r < 0)
                        return r;
        }
        return 0;
}

int sys_limit_capabilities(uint32_t keep)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        const struct __user_cap_data_struct kept[2] = {{.effective = keep, .permitted = keep}};
        int r = sys_prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0);
        if (r < 0)
                return r;
        return (int)sys_call2(SYS_capset, &header, kept);
}

int sys_clear_capabilities(void)
{
        return sys_limit_capabilities(0);
}

int sys_drop_capabilities(void)
{
        int r = sys_bound_capabilities(0);
        return r < 0 ? r : sys_clear_capabilities();
}

int sys_raise_capabilities(void)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct sets[2];
        int r = (int)sys_call2(SYS_capget, &header, sets);
        if (r < 0)
                return r;
        for (int i = 0; i < 2; i++)
                sets[i].effective = sets[i].permitted;
        return (int)sys_call2(SYS_capset, &header, sets);
}

int sys_new_session_keyring(void)
{
        return (int)sys_call2(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, 0);
}

int sys_landlock_abi(void)
{
        long abi = sys_call3(SYS_landlock_create_ruleset, 0, 0, LANDLOCK_CREATE_RULESET_VERSION);
        return abi < 0 ? 0 : (int)abi;
}

int sys_execveat(int fd, const char *path, char *const argv[], char *const env[], int flags)
{
        return (int)sys_call5(SYS_execveat, fd, path, argv, env, flags);
}

_Noreturn void sys_exit(int code)
{
        for (;;)
                sys_call1(SYS_exit_group, code);
}

#define SIGNALS 64

struct action {
        unsigned long handler,
                rest[3]; /* struct of the kernel: libc's sigaction() hides two signals that libc uses */
};

uint64_t sys_ignored_signals(void)
{
        uint64_t ignored = 0;
        for (int signal = 1; signal <= SIGNALS; signal++) {
                struct action action = {0};
                if (sys_call4(SYS_rt_sigaction, signal, 0, &action, KERNEL_SIGSET_BYTES) == 0 &&
                    action.handler == (unsigned long)SIG_IGN)
                        ignored |= UINT64_C(1) << (signal - 1);
        }
        return ignored;
}

void sys_default_signals(uint64_t signals)
{
        const struct action none = {.handler = (unsigned long)SIG_DFL};
        for (int signal = 1; signal <= SIGNALS; signal++)
                if (signals >> (signal - 1) & 1)
                        sys_call4(SYS_rt_sigaction, signal, &none, 0, KERNEL_SIGSET_BYTES);
}

int sys_block_signals(uint64_t *old)
{
        uint64_t all = ~UINT64_C(0);
        return (int)sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, &all, old, KERNEL_SIGSET_BYTES);
}

int sys_restore_signals(const uint64_t *old)
{
        return (int)sys_call4(SYS_rt_sigprocmask, SIG_SETMASK, old, 0, KERNEL_SIGSET_BYTES);
}

int sys_poll(struct pollfd *fds, unsigned n, int64_t timeout_us)
{
        struct timespec ts = {.tv_sec = timeout_us / 1000000, .tv_nsec = timeout_us % 1000000 * 1000};
        return (int)sys_call5(SYS_ppoll, fds, n, timeout_us < 0 ? NULL : &ts, 0, KERNEL_SIGSET_BYTES);
}
