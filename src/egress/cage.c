/* egress/cage.c -- see cage.h.
 *
 * The filter is a list, not a tree as for sandboxes: it is loaded once, and the most frequent calls come
 * first. */
#include "egress/cage.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/auto.h"
#include "sys/process.h"
#include "sys/raw.h"

#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif
#define X32_BIT 0x40000000u

#define MEMORY_MAX ((uint64_t)1 << 30)

/* Both architectures are little-endian: the low half of an argument comes first.  All arguments checked are
 * int or, for mmap and mprotect, never larger. */
#define ARGUMENT(i) (offsetof(struct seccomp_data, args) + 8 * (i))
#define LOAD(at) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(at))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define IF(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(k), yes, no)

#define ALLOW(call) IF(SYS_##call, 0, 1), RETURN(SECCOMP_RET_ALLOW)
/* Allows the call if none of the bits is set in the argument. */
#define ALLOW_WITHOUT(call, i, bits)                                                                         \
        IF(SYS_##call, 0, 4), LOAD(ARGUMENT(i)), BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 1, 0),         \
                RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_ERRNO | EPERM)

static const struct sock_filter filter[] = {
        LOAD(offsetof(struct seccomp_data, arch)),
        IF(ARCH, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        LOAD(offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
        RETURN(SECCOMP_RET_KILL_PROCESS),

        ALLOW(splice),
        ALLOW(epoll_pwait),
        ALLOW(recvfrom),
        ALLOW(sendto),
        ALLOW(accept4),
        ALLOW(epoll_ctl),
        ALLOW(close),
        ALLOW(connect),
        ALLOW(shutdown),
        ALLOW(getsockname),
        ALLOW(getsockopt),
        ALLOW(recvmsg),
        ALLOW(sendmsg),
        ALLOW(pipe2),
        ALLOW(clock_gettime), /* if the vdso has no clock */
        ALLOW(getrandom),
        ALLOW(brk),
        ALLOW(munmap),
        ALLOW(mremap),
        ALLOW(madvise),
        ALLOW(exit),
        ALLOW(exit_group),
        ALLOW(restart_syscall),
        ALLOW(rt_sigreturn),
        ALLOW_WITHOUT(mmap, 2, PROT_EXEC),
        ALLOW_WITHOUT(mprotect, 2, PROT_EXEC),

        /* Sets a pipe's size; makes a listener non-blocking. */
        IF(SYS_fcntl, 0, 6),
        LOAD(ARGUMENT(1)),
        IF(F_SETPIPE_SZ, 2, 0),
        IF(F_GETFL, 1, 0),
        IF(F_SETFL, 0, 1),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_ERRNO | EPERM),

        /* Only TCP and UDP. */
        IF(SYS_socket, 0, 11),
        LOAD(ARGUMENT(0)),
        IF(AF_INET, 1, 0),
        IF(AF_INET6, 0, 7),
        LOAD(ARGUMENT(1)),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
        IF(SOCK_STREAM, 1, 0),
        IF(SOCK_DGRAM, 0, 3),
        LOAD(ARGUMENT(2)),
        IF(0, 0, 1),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_ERRNO | EPERM),

        /* Socket options: reset on close, mark, no delay, destination address of packets. */
        IF(SYS_setsockopt, 0, 12),
        LOAD(ARGUMENT(2)),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
        LOAD(ARGUMENT(1)),
        BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 16),
        BPF_STMT(BPF_ALU | BPF_OR | BPF_X, 0),
        IF(SOL_SOCKET << 16 | SO_LINGER, 4, 0),
        IF(SOL_SOCKET << 16 | SO_PRIORITY, 3, 0),
        IF(IPPROTO_TCP << 16 | TCP_NODELAY, 2, 0),
        IF(IPPROTO_IPV6 << 16 | IPV6_RECVPKTINFO, 1, 0),
        IF(IPPROTO_IP << 16 | IP_PKTINFO, 0, 1),
        RETURN(SECCOMP_RET_ALLOW),
        RETURN(SECCOMP_RET_ERRNO | EPERM),

        RETURN(SECCOMP_RET_ERRNO | EPERM),
};

static int egress_cage_load(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        return 0; /* the sanitizer's runtime opens files and searches for leaks at exit */
#endif
        const struct sock_fprog program = {ARRAY_LEN(filter), (struct sock_filter *)filter};

        return (int)sys_call3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* The bounding set is not changed: that may be forbidden, and it has no effect because nothing is executed.
 */
static int drop_capabilities(void)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        const struct __user_cap_data_struct none[2] = {{0}};

        return (int)sys_call2(SYS_capset, &header, none);
}

int egress_cage_enter(void)
{
        static const int none[] = {RLIMIT_CORE, RLIMIT_FSIZE, RLIMIT_MEMLOCK, RLIMIT_MSGQUEUE};
        int r = sys_prctl(PR_SET_NO_NEW_PRIVS, 1, 0);

        for (size_t i = 0; i < ARRAY_LEN(none) && r == 0; i++)
                r = sys_setrlimit(none[i], 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        if (r == 0)
                r = sys_setrlimit(RLIMIT_DATA, MEMORY_MAX);
#endif
        if (r == 0)
                r = sys_prctl(PR_SET_DUMPABLE, 0, 0);
        if (r == 0)
                r = drop_capabilities();
        return r == 0 ? egress_cage_load() : r;
}
