/* on_their_way.h -- a user who has more descriptors on their way than he may have open: the kernel does not
 * take another from him. */
#pragma once
#include <sys/resource.h>
#include <sys/socket.h>

#include "sys/rights.h"
#include "test.h"

#define SOMEBODY 65534 /* an unprivileged user, for whom the kernel enforces the limit */
#define ON_THEIR_WAY 8
#define NOT_HERE 100 /* what the child exits with */

static struct rlimit limit_before;

/* valgrind does not pass this limit to the kernel */
static bool kernel_knows(FILE *limits, rlim_t limit)
{
        char line[128];
        unsigned long long now = 0;
        while (limits && fgets(line, sizeof line, limits) && sscanf(line, "Max open files %llu", &now) != 1)
                continue;
        return now == limit;
}

/* As another user: leaves more descriptors in flight than the limit allows.  0, or the exit status. */
static int send_too_many(void)
{
        int others[2], fd = open("/dev/null", O_RDONLY);
        if (getuid() == 0 && (setgid(SOMEBODY) < 0 || setuid(SOMEBODY) < 0))
                return 1;
        if (fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, others) < 0 ||
            getrlimit(RLIMIT_NOFILE, &limit_before) < 0)
                return 2;
        for (int i = 0; i < ON_THEIR_WAY; i++)
                if (sys_rights_send(others[0], "x", 1, &fd, 1, 0) < 0)
                        return 3;
        const struct rlimit few = {ON_THEIR_WAY / 2, limit_before.rlim_max};
        FILE *limits = fopen("/proc/self/limits", "re"); /* opened early: no descriptor is free later */
        if (setrlimit(RLIMIT_NOFILE, &few) < 0)
                return 4;
        return kernel_knows(limits, few.rlim_cur) ? 0 : NOT_HERE;
}

#define AS_SOMEBODY(what)                                                                                    \
        do {                                                                                                 \
                int status = -1;                                                                             \
                pid_t pid = fork();                                                                          \
                if (pid == 0)                                                                                \
                        _exit(what);                                                                         \
                CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);                                           \
                if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)                                    \
                        SKIP("limits are not the kernel's");                                                 \
                CHECK_INT(status, 0);                                                                        \
        } while (0)
