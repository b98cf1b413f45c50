/* The egress process's system call filter: what it refuses, and that it leaves what is needed. */
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#include "egress/cage.h"
#include "sys/raw.h"
#include "test.h"

/* NULL, or why there is no filter here. */
static const char *uncaged(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        return "there is no filter beside a sanitizer";
#else
        return getenv("CELLA_TEST_SLOW") ? "valgrind does not live behind the filter" : NULL;
#endif
}

/* Runs in a child behind the filter: its exit status is the number of the first check that failed. */
static int caged(int (*run)(void))
{
        int status;
        pid_t pid = fork();

        if (pid == 0)
                _exit(egress_cage_enter() < 0 ? 100 : run());
        waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int refused(void)
{
        const long results[] = {
                sys_call4(SYS_openat, AT_FDCWD, "/etc/passwd", O_RDONLY, 0),
                sys_call3(SYS_execve, "/bin/true", NULL, NULL),
                sys_call2(SYS_kill, getpid(), 0),
                sys_call5(SYS_clone, SIGCHLD, 0, 0, 0, 0),
                sys_call3(SYS_socket, AF_UNIX, SOCK_STREAM, 0),
                sys_call3(SYS_socket, AF_NETLINK, SOCK_RAW, 0),
                sys_call3(SYS_socket, AF_PACKET, SOCK_RAW, 0),
                sys_call3(SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP),
                sys_call3(SYS_socket, AF_INET, SOCK_DGRAM, IPPROTO_ICMP),
                sys_call3(SYS_socket, AF_INET, SOCK_STREAM, 262), /* MPTCP */
                sys_call3(SYS_socket, AF_INET6, SOCK_SEQPACKET, 0),
                sys_call4(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0),
                sys_call3(SYS_bind, 0, NULL, 0),
                sys_call2(SYS_listen, 0, 1),
                sys_call5(SYS_setsockopt, 0, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3),
                sys_call5(SYS_setsockopt, 0, SOL_SOCKET, SO_ATTACH_FILTER, NULL, 0),
                sys_call6(SYS_mmap, 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
                sys_call3(SYS_mprotect, (long)&errno & ~4095l, 4096, PROT_READ | PROT_EXEC),
                sys_call3(SYS_fcntl, 0, F_DUPFD, 0),
                sys_call3(SYS_fcntl, 0, F_SETOWN, 1),
                sys_call2(SYS_memfd_create, "x", 0),
                sys_call1(SYS_unshare, 0),
                sys_call2(SYS_setns, 0, 0),
                sys_call2(SYS_prctl, PR_SET_DUMPABLE, 1),
                sys_call6(SYS_process_vm_readv, getpid(), 0, 0, 0, 0, 0),
                sys_call2(SYS_io_uring_setup, 1, NULL),
                sys_call3(SYS_bpf, 0, NULL, 0),
                sys_call3(SYS_seccomp, 0, 0, NULL),
                sys_call3(SYS_read, -1, NULL, 0),
        };

        for (unsigned i = 0; i < sizeof results / sizeof *results; i++)
                if (results[i] != -EPERM)
                        return (int)i + 1;
        return 0;
}

TEST(other_calls_are_refused_in_the_cage)
{
        if (uncaged())
                SKIP(uncaged());
        CHECK_INT(caged(refused), 0);
}

static int allowed(void)
{
        int on = 1, fds[2];
        const struct linger linger = {0};
        int tcp = (int)sys_call3(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        int udp = (int)sys_call3(SYS_socket, AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        struct sockaddr_in to = {
                .sin_family = AF_INET, .sin_port = htons(9), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        const long results[] = {
                tcp < 0 ? tcp : 0,
                udp < 0 && udp != -EAFNOSUPPORT ? udp : 0,
                sys_call5(SYS_setsockopt, tcp, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on),
                sys_call5(SYS_setsockopt, tcp, SOL_SOCKET, SO_LINGER, &linger, sizeof linger),
                sys_call5(SYS_setsockopt, tcp, SOL_SOCKET, SO_PRIORITY, &on, sizeof on),
                sys_call2(SYS_pipe2, fds, O_CLOEXEC),
                sys_call3(SYS_fcntl, fds[1], F_SETPIPE_SZ, 65536) > 0 ? 0 : -1,
                sys_call3(SYS_connect, tcp, &to, sizeof to) == -EPERM,
                sys_call6(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) > 0
                        ? 0
                        : -1,
                sys_call3(SYS_getrandom, &on, sizeof on, 0) == sizeof on ? 0 : -1,
                malloc(3 << 20) == NULL,
                sys_call1(SYS_close, tcp),
        };

        for (unsigned i = 0; i < sizeof results / sizeof *results; i++)
                if (results[i] != 0)
                        return (int)i + 1;
        return 0;
}

TEST(needed_calls_are_allowed_in_the_cage)
{
        if (uncaged())
                SKIP(uncaged());
        CHECK_INT(caged(allowed), 0);
}

#ifdef __x86_64__
static int old_machine(void)
{
        long r = 20; /* getpid() of a 32-bit program */

        __asm__ volatile("int $0x80" : "+a"(r) : : "memory");
        return 0;
}

static int x32(void)
{
        return (int)sys_call1(0x40000000 | SYS_getpid, 0);
}

TEST(calls_of_other_architectures_kill_the_process)
{
        if (uncaged())
                SKIP(uncaged());
        CHECK_INT(caged(old_machine), -SIGSYS);
        CHECK_INT(caged(x32), -SIGSYS);
}
#endif
