#include "docker/network.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "docker/process.h"
#include "jail/way_out.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"
#include "wire/init.h"
#include "wire/message.h"

#define PATIENCE_S 20

/* ---- capabilities ---- */

static uint32_t permitted(void)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct have[2] = {{0}};
        return sys_call2(SYS_capget, &header, have) == 0 ? have[0].permitted & DOCKER_CAPABILITIES : 0;
}

static int set_rights(uint32_t keep, uint32_t use)
{
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        const struct __user_cap_data_struct data[2] = {{.permitted = keep, .effective = use}};
        return (int)sys_call2(SYS_capset, &header, data);
}

int network_keep_rights(void)
{
        return set_rights(permitted(), 0);
}

static int docker_network_refuse(struct cella_err *err)
{
        err_say(err, CELLA_ISOLATION_UNAVAILABLE, -EPERM,
                "net: no capabilities in the container's network namespace: only tier restricted is "
                "possible");
        return err_hint(err, "run cella as root, or use a container engine that is rootless, or the engine "
                             "native, which runs images, too");
}

int network_check(const struct docker_opened *engine, struct cella_err *err)
{
        return engine->rootless || permitted() == DOCKER_CAPABILITIES ? 0 : docker_network_refuse(err);
}

/* ---- in the child ----
 * It was not made by fork() of libc: nothing here may allocate memory. */

/* Root has capabilities in every namespace.  Another user has them in namespaces of its own rootless engine,
 * after entering their user namespace. */
static int docker_network_enter(int netns)
{
        set_rights(permitted(), permitted());
        int r = sys_setns(netns, CLONE_NEWNET);
        if (r != -EPERM)
                return r;
        AUTO(sys_close) int owner = (int)sys_call3(SYS_ioctl, netns, NS_GET_USERNS, 0);
        if (owner < 0 || sys_setns(owner, CLONE_NEWUSER) < 0)
                return -EPERM;
        return sys_setns(netns, CLONE_NEWNET);
}

/* Some kernels add interfaces to every namespace, which are down. */
static bool is_up(int any_socket, const char *name, size_t len)
{
        struct ifreq request = {0};
        if (len >= sizeof request.ifr_name)
                return true;
        memcpy(request.ifr_name, name, len);
        return sys_call3(SYS_ioctl, any_socket, SIOCGIFFLAGS, &request) < 0 || (request.ifr_flags & IFF_UP);
}

/* There must be no other interface: an engine may give one even to a container without network. */
static int check_alone(struct cella_err *err)
{
        char text[16384], *at = text;
        AUTO(sys_close) int any = (int)sys_call3(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        ssize_t n = any < 0 ? any : sys_read_file(AT_FDCWD, "/proc/self/net/dev", text, sizeof text);
        if (n < 0 || n >= (ssize_t)sizeof text - 1)
                return err_set(err, CELLA_ISOLATION_UNAVAILABLE, n < 0 ? (int)n : -E2BIG,
                               "net: cannot see the container's interfaces");
        for (int line = 0; (at = strchr(at, '\n')); line++) {
                at++;
                const char *name = at + strspn(at, " ");
                size_t len = strcspn(name, ":\n");
                if (line == 0 || name[len] != ':' || (len == 2 && !memcmp(name, "lo", 2)))
                        continue; /* the second line also has titles */
                if (is_up(any, name, len))
                        return err_say(err, CELLA_ISOLATION_UNAVAILABLE, -EPERM,
                                       "net: the container has an interface of its own: %.*s",
                                       (int)(len < IFNAMSIZ ? len : IFNAMSIZ), name);
        }
        return 0;
}

_Noreturn static void work(int netns, int answer)
{
        struct cella_err err = {0};
        struct way_out way;
        int r = docker_network_enter(netns);
        if (r == -EPERM)
                docker_network_refuse(&err);
        else if (r < 0)
                err_set(&err, CELLA_ISOLATION_UNAVAILABLE, r, "net: cannot enter the container's namespace");
        if (r == 0 && (r = check_alone(&err)) == 0)
                r = way_out_make(&way, &err);
        if (r < 0)
                message_send(answer, INIT_FAILED, 0, NULL, 0, &err, sizeof err, NULL, 0);
        else
                message_send(answer, INIT_NETWORK, 0, (int[]){way.tcp, way.udp}, 2, NULL, 0, NULL, 0);
        sys_exit(0);
}

/* ---- in the caller ---- */

/* Receives a message of this type with n_fds descriptors and no data, or an error. */
static int docker_network_receive(int socket, uint32_t type, int *fds, unsigned n_fds, struct cella_err *err)
{
        const struct timeval patience = {.tv_sec = PATIENCE_S}, none = {0};
        struct cella_err theirs;
        struct message m = {0};
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        int r = message_receive(socket, &m, &theirs, sizeof theirs);
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
        if (r > 0 && m.type == type && m.len == 0 && m.n_fds == n_fds) {
                memcpy(fds, m.fds, n_fds * sizeof *fds);
                return 0;
        }
        if (r > 0)
                message_close_fds(&m);
        if (r > 0 && m.type == INIT_FAILED && m.len == sizeof theirs && theirs.num < 0) {
                *err = theirs;
                err->msg[sizeof err->msg - 1] = err->hint[sizeof err->hint - 1] = '\0';
                return err->num;
        }
        return err_set(err, CELLA_ISOLATION_UNAVAILABLE,
                       r == -EAGAIN ? -ETIMEDOUT
                       : r < 0      ? r
                                    : -EPROTO,
                       "net: the network namespace of the container is not visible from here");
}

/* Checks that it is a network namespace and not our own. */
static int check_namespace(int fd, struct cella_err *err)
{
        struct statfs fs;
        struct stat st;
        if (fstatfs(fd, &fs) == 0 && fs.f_type == NSFS_MAGIC && ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET &&
            fstat(fd, &st) == 0 && process.outside[INIT_NS_NET] != 0 &&
            st.st_ino != process.outside[INIT_NS_NET])
                return 0;
        return err_say(err, CELLA_ISOLATION_UNAVAILABLE, -EPERM,
                       "net: the container has no network namespace of its own");
}

static int make_there(int netns, int ret[2], struct cella_err *err)
{
        int pair[2], pidfd = -1, r = message_pair(pair);
        uint64_t signals;
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot create a socket");
        sys_block_signals(&signals);
        pid_t pid = sys_fork(0, &pidfd);
        if (pid == 0)
                work(netns, pair[1]);
        sys_restore_signals(&signals);
        sys_close(pair[1]);
        r = pid < 0 ? err_set(err, CELLA_INTERNAL, pid, "cannot start a process")
                    : docker_network_receive(pair[0], INIT_NETWORK, ret, 2, err);
        if (pid > 0) {
                sys_end_child(pid, pidfd);
                sys_wait(pid, NULL, __WALL, NULL);
        }
        sys_close(pidfd);
        sys_close(pair[0]);
        return r;
}

int network_open(int control, int ret[2], struct cella_err *err)
{
        AUTO(sys_close) int netns = -1;
        int r = message_send(control, INIT_PLACE, 0, NULL, 0, NULL, 0, NULL, 0);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot talk to the sandbox");
        if ((r = docker_network_receive(control, INIT_DONE, &netns, 1, err)) < 0 ||
            (r = check_namespace(netns, err)) < 0)
                return r;
        return make_there(netns, ret, err);
}
