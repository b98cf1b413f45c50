/* init/join.c -- handles INIT_JOIN: sets up the sandbox in a container. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/utsname.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "init/init.h"
#include "init/refused.h"
#include "jail/join.h"
#include "sys/file.h"
#include "sys/raw.h"
#include "wire/mounts.h"

int join_connect(const char *path)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        if (strlen(path) >= sizeof address.sun_path)
                return -ENAMETOOLONG;
        memcpy(address.sun_path, path, strlen(path) + 1);
        AUTO(sys_close) int fd = (int)sys_call3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        int r = fd < 0 ? fd : (int)sys_call3(SYS_connect, fd, &address, sizeof address);
        if (r == 0 && fd == INIT_CONTROL_FD)
                return TAKE_FD(fd);
        return r < 0 ? r : sys_dup3(fd, INIT_CONTROL_FD, O_CLOEXEC);
}

int join_report_place(void)
{
        AUTO(sys_close) int netns = sys_openat(AT_FDCWD, "/proc/self/ns/net", O_RDONLY, 0);
        return netns < 0 ? netns : message_send(INIT_CONTROL_FD, INIT_DONE, 0, &netns, 1, NULL, 0, NULL, 0);
}

/* Passes on the sockets for egress, which were made outside (docker/network.h).  Like those that init makes
 * itself in other sandboxes, they are passed on and not kept. */
static int give_way_out(const struct message *message, struct cella_err *err)
{
        if (message->n_fds == 0)
                return 0;
        int r = message->n_fds != 2
                        ? -EPROTO
                        : message_send(INIT_CONTROL_FD, INIT_NETWORK, 0, message->fds, 2, NULL, 0, NULL, 0);
        for (unsigned i = 0; i < message->n_fds; i++)
                sys_close(message->fds[i]);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "egress: cannot pass on the sockets") : 0;
}

/* A runtime may have its own kernel: then no namespace of the owner can be ours, and their numbers mean
 * nothing. The kernel version contains its build time, and no namespace changes it. */
static bool is_owners_kernel(const char *version)
{
        struct utsname own;
        return sys_call1(SYS_uname, &own) < 0 || !strncmp(own.version, version, sizeof own.version);
}

/* Landlock must allow to write to the mounts.  Returns their number or -EINVAL. */
static int take_mounts(const char *text, size_t len, struct jail_mount ret[INIT_MOUNTS_MAX])
{
        struct mounts_item items[INIT_MOUNTS_MAX];
        int n = mounts_parse(text, len, items, INIT_MOUNTS_MAX);
        for (int i = 0; i < n; i++)
                ret[i] = (struct jail_mount){items[i].source, items[i].target, items[i].writable, -1, -1};
        return n;
}

int join(const struct message *message, const char *data, struct init_ready *ret, struct cella_err *err)
{
        /* The owner read the engine's counters before it sent INIT_JOIN. */
        ret->cpu_us = clock_cpu_us();
        struct init_join head;
        struct jail_mount mounts[INIT_MOUNTS_MAX];
        const bool whole = message->type == INIT_JOIN && message->len >= sizeof head;
        int n = whole ? take_mounts(data + sizeof head, message->len - sizeof head, mounts) : -EPROTO;
        if (n < 0)
                return err_say(err, CELLA_INTERNAL, -EPROTO, "the INIT_JOIN message is missing or invalid");
        memcpy(&head, data, sizeof head);
        head.kernel[sizeof head.kernel - 1] = '\0';
        struct jail_spec spec = {
                .walls = head.walls,
                .limits = head.limits,
                .mounts = mounts,
                .n_mounts = (size_t)n,
                .proc_fd = -1,
                .netns_fd = -1,
                .user_fd = -1,
                .census_fd = -1,
                .own_proc_fd = -1,
                .n_ids = 1,
                .listener_fd = -1,
        };
        int r = give_way_out(message, err);
        if (r == 0)
                r = jail_join(&spec, is_owners_kernel(head.kernel) ? head.outside : NULL, INIT_CONTROL_FD,
                              err);
        if (r < 0)
                return r;
        refused_listen(spec.listener_fd);
        ret->walls = spec.walls;
        return 0;
}
