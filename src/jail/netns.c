/* jail/netns.c -- makes a network namespace while the view is being built.
 *
 * Making one takes the kernel about as long as all mounts of a sandbox together (0.4 ms), and the two are
 * independent.  So the owner makes it on its own core while the child builds the view.  An owner without
 * privilege cannot; then a helper of the child does, which shares the child's memory and descriptors.  The
 * helper uses only its own small stack and *ns, and makes system calls without errno (sys/raw.h), which it
 * would share. */
#include "jail/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#define OWN_IN_PROC "thread-self/ns/net"
#define OWN_NAMESPACE "/proc/" OWN_IN_PROC

/* Makes a namespace for the calling thread.  path in dir is its /proc entry.  Returns its descriptor or
 * -errno. */
static int netns_make(int dir, const char *path)
{
        int r = sys_unshare(CLONE_NEWNET);
        return r < 0 ? r : sys_openat(dir, path, O_RDONLY, 0);
}

static int loopback_up(void)
{
        struct ifreq loopback = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
        AUTO(sys_close) int fd = (int)sys_call3(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        return fd < 0 ? fd : (int)sys_call3(SYS_ioctl, fd, SIOCSIFFLAGS, &loopback);
}

int netns_visit(struct netns_visit *visit)
{
        visit->home = sys_openat(AT_FDCWD, OWN_NAMESPACE, O_RDONLY, 0);
        visit->fd = visit->home < 0 ? visit->home : netns_make(AT_FDCWD, OWN_NAMESPACE);
        return visit->fd < 0 ? visit->fd : 0;
}

int netns_leave(struct netns_visit *visit)
{
        int up = visit->fd < 0 ? 0 : loopback_up();
        int r = visit->home < 0 ? 0 : sys_setns(visit->home, CLONE_NEWNET);
        sys_close(visit->home);
        sys_close(visit->fd);
        return r < 0 ? r : up;
}

/* Files that show whether a namespace was used.  Their counters are zero in a new namespace; every packet,
 * refused packet and failed route lookup increases one.  (netstat is left out: it counts only packets that
 * the loopback device has counted, and takes as long to read as all of these.)  Other remains (neighbours,
 * TCP metrics, ports in TIME_WAIT, learned routes) need packets.
 *
 * A socket can outlive its processes and keep its name or port: as a descriptor in flight through another
 * socket that no process can receive from, until the kernel's garbage collector runs.  So sockets are counted
 * too; only the first line of that file is about this namespace.
 *
 * Two things need no packet but only socket options: flow labels, which remain for some seconds with an
 * address that the code chose, and IPv6 route lookups, which are counted.  (Group memberships are announced
 * too late to be seen here: the filter refuses to join groups.) */
static const struct {
        const char *path;
        size_t most; /* number of bytes that are compared; 0: all */
        bool may_lack;
} files[NETNS_FILES] = {
        {"/proc/thread-self/net/dev", 0, false},
        {"/proc/thread-self/net/snmp", 0, false},
        {"/proc/thread-self/net/snmp6", 0, true}, /* missing without IPv6 */
        {"/proc/thread-self/net/sockstat", sizeof "sockets: used 0\n" - 1, false},
        {"/proc/thread-self/net/ip6_flowlabel", 0, true},
        {"/proc/thread-self/net/rt6_stats", 0, true},
};

/* Opens the files, which stay open: opening one costs more than reading it. */
static int open_files(struct netns_kept *kept)
{
        if (kept->files[0] >= 0)
                return 0;
        AUTO(sys_close) int home = sys_openat(AT_FDCWD, OWN_NAMESPACE, O_RDONLY, 0);
        if (home < 0)
                return home;
        int r = sys_setns(kept->fd, CLONE_NEWNET);
        if (r < 0)
                return r;
        for (size_t i = 0; i < NETNS_FILES && r >= 0; i++) {
                r = kept->files[i] = sys_openat(AT_FDCWD, files[i].path, O_RDONLY, 0);
                if (r == -ENOENT && files[i].may_lack)
                        r = 0;
        }
        for (size_t i = 0; i < NETNS_FILES && r < 0; i++) /* on failure, close all */
                sys_close(TAKE_FD(kept->files[i]));
        int back = sys_setns(home, CLONE_NEWNET);
        return r < 0 ? r : back;
}

int netns_record(struct netns_kept *kept, struct netns_record *ret)
{
        int r = open_files(kept);
        ret->len = 0;
        for (size_t i = 0; i < NETNS_FILES && r >= 0; i++) {
                const size_t room = sizeof ret->text - ret->len;
                const size_t most = files[i].most > 0 && files[i].most < room ? files[i].most : room;
                if (kept->files[i] < 0)
                        continue;
                r = (int)sys_call4(SYS_pread64, kept->files[i], ret->text + ret->len, most, 0);
                ret->len += r > 0 ? (size_t)r : 0;
        }
        return r < 0 ? r : 0;
}

bool netns_is_as_new(struct netns_kept *kept, const struct netns_record *fresh)
{
        static BULKY struct netns_record now;
        return fresh->len > 0 && netns_record(kept, &now) == 0 && now.len == fresh->len &&
               memcmp(now.text, fresh->text, now.len) == 0;
}

void netns_let_go(struct netns_kept *kept)
{
        sys_close(kept->fd);
        for (size_t i = 0; i < NETNS_FILES; i++)
                sys_close(kept->files[i]);
        *kept = NETNS_NONE;
}

static int helper(void *arg)
{
        struct netns *ns = arg;
        int fd = netns_make(ns->proc, OWN_IN_PROC), r = fd < 0 ? fd : loopback_up();
        ns->result = r < 0 ? r : fd;
        sys_exit(0);
}

int netns_start(struct netns *ns, int proc)
{
        ns->proc = proc;
        /* libc's clone(), not clone3(): the child needs its own stack. */
        int pid = clone(helper, ns->stack + sizeof ns->stack, CLONE_VM | CLONE_FILES | SIGCHLD, ns);
        if (pid < 0)
                return -errno;
        ns->pid = pid;
        return 0;
}

int netns_join(struct netns *ns)
{
        int status;
        int r = sys_wait(ns->pid, &status, __WALL, NULL);
        if (r < 0)
                return r;
        if (status != 0)
                return -EIO;
        if (ns->result < 0)
                return ns->result;
        AUTO(sys_close) int fd = ns->result;
        return sys_setns(fd, CLONE_NEWNET);
}
