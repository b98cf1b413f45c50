#include "keeper/outbox.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define SOMEBODY 65534 /* without a right to send more than his share */
#define ON_THEIR_WAY 8
#define NOT_HERE 100

/* Valgrind keeps this limit to itself. */
static bool kernel_knows(FILE *limits, rlim_t limit)
{
        char line[128];
        unsigned long long now = 0;
        while (limits && fgets(line, sizeof line, limits) && sscanf(line, "Max open files %llu", &now) != 1)
                continue;
        return now == limit;
}

/* As many descriptors as one may have open may be on their way, of all that a user has sent and nobody has
 * received. */
static int send_too_many(void)
{
        struct rlimit before, few;
        char data[16];
        int others[2], pair[2], fd = open("/dev/null", O_RDONLY);
        if (getuid() == 0 && (setgid(SOMEBODY) < 0 || setuid(SOMEBODY) < 0))
                return 1;
        if (fd < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, others) < 0 ||
            socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0 || getrlimit(RLIMIT_NOFILE, &before) < 0)
                return 2;
        struct outbox elsewhere = {.socket = others[0]}, outbox = {.socket = pair[0]};
        for (int i = 0; i < ON_THEIR_WAY; i++)
                if (outbox_send(&elsewhere, "x", 1, &(struct outbox_rights){.fd = dup(fd)}) < 0)
                        return 3;
        few = (struct rlimit){ON_THEIR_WAY / 2, before.rlim_max};
        FILE *limits = fopen("/proc/self/limits", "re"); /* read when there is no descriptor left */
        if (setrlimit(RLIMIT_NOFILE, &few) < 0)
                return 4;
        if (!kernel_knows(limits, few.rlim_cur))
                return NOT_HERE;
        if (outbox_send(&outbox, "with", 4, &(struct outbox_rights){.fd = fd}) != 0 || !outbox_waits(&outbox))
                return 5;
        /* What has none waits all the same: they come in order. */
        if (outbox_send(&outbox, "without", 7, &(struct outbox_rights){.fd = -1}) != 0 ||
            outbox_flush(&outbox) != 0 || recv(pair[1], data, sizeof data, MSG_DONTWAIT) >= 0)
                return 6;
        if (setrlimit(RLIMIT_NOFILE, &before) < 0 || outbox_flush(&outbox) != 0 || outbox_waits(&outbox))
                return 7;
        return recv(pair[1], data, sizeof data, 0) == 4 && recv(pair[1], data, sizeof data, 0) == 7 ? 0 : 8;
}

TEST(what_the_kernel_has_no_room_for_comes_later)
{
        int status = -1;
        pid_t pid = fork();
        if (pid == 0)
                _exit(send_too_many());
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_HERE)
                SKIP("limits are not the kernel's");
        CHECK_INT(status, 0);
}
