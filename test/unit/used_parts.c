/* Whether a namespace that served a sandbox may serve another: only if nothing of the first is left in it. */
#include <sched.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "jail/netns.h"
#include "sys/file.h"
#include "sys/process.h"
#include "test.h"

#define NAME "used_parts"

static struct netns_record fresh;

/* Makes a namespace as the keeper does in advance, and reads its counters. */
static struct netns_kept make_netns(struct netns_record *ret)
{
        struct netns_visit visit;
        struct netns_kept made = NETNS_NONE;
        made.fd = netns_visit(&visit) < 0 ? -1 : sys_dup_above(visit.fd, 3);
        CHECK_INT(netns_leave(&visit), 0);
        CHECK(made.fd >= 0);
        CHECK_INT(netns_record(&made, ret), 0);
        return made;
}

/* A process that enters the namespace, does something there and reports it.  It lives until it is released.
 */
struct visitor {
        pid_t pid;
        int said, hold;
};

static struct visitor visit(int ns, int kind, bool (*what)(void))
{
        int say[2], hold[2];
        char byte = 0;
        CHECK(pipe2(say, O_CLOEXEC) == 0 && pipe2(hold, O_CLOEXEC) == 0);
        struct visitor v = {.pid = fork(), .said = say[0], .hold = hold[1]};
        if (v.pid == 0) {
                close(say[0]);
                close(hold[1]);
                if (setns(ns, kind) == 0 && what() && write(say[1], "y", 1) == 1)
                        byte = read(hold[0], &byte, 1) == 0;
                _exit(byte ? 0 : 1);
        }
        close(say[1]);
        close(hold[0]);
        CHECK(read(v.said, &byte, 1) == 1);
        return v;
}

static bool end(struct visitor v)
{
        int status = -1;
        close(v.hold);
        waitpid(v.pid, &status, 0);
        close(v.said);
        return status == 0;
}

static bool does_nothing(void)
{
        return true;
}

/* A socket that sends nothing: no packets and no failures are counted.  Returns it. */
static int bind_name(void)
{
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        const socklen_t len = offsetof(struct sockaddr_un, sun_path) + 1 + sizeof NAME;
        memcpy(name.sun_path + 1, NAME, sizeof NAME);
        AUTO(sys_close) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        return bind(fd, (struct sockaddr *)&name, len) < 0 ? -1 : TAKE_FD(fd);
}

static bool binds_name(void)
{
        return bind_name() >= 0;
}

/* Sends a descriptor through a socket that is itself in flight: it will never be received. */
static bool leave_in_flight(int fd)
{
        int pair[2];
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(2 * sizeof(int))];
        } control = {.head = {CMSG_LEN(2 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
        struct iovec byte = {"x", 1};
        struct msghdr msg = {
                .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        if (fd < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
                return false;
        const int passed[2] = {fd, pair[0]};
        memcpy(CMSG_DATA(&control.head), passed, sizeof passed);
        return sendmsg(pair[1], &msg, 0) == 1;
}

static bool leaves_name_in_flight(void)
{
        return leave_in_flight(bind_name());
}

TEST(a_new_network_namespace_has_no_socket)
{
        if (geteuid() != 0)
                SKIP("not started as root");
        static const char none[] = "sockets: used 0\n";
        static struct netns_record second;
        struct netns_kept netns = make_netns(&fresh), other = make_netns(&second);
        CHECK(fresh.len > sizeof none && fresh.len < sizeof fresh.text / 2);
        CHECK(memmem(fresh.text, fresh.len, none, sizeof none - 1));
        CHECK(netns_is_as_new(&netns, &fresh) && netns_is_as_new(&other, &fresh));
        struct visitor v = visit(netns.fd, CLONE_NEWNET, does_nothing);
        CHECK(netns_is_as_new(&netns, &fresh));
        CHECK(end(v));
        CHECK(netns_is_as_new(&netns, &fresh));
        netns_let_go(&netns);
        netns_let_go(&other);
}

TEST(a_network_namespace_with_a_socket_is_not_as_new)
{
        if (geteuid() != 0)
                SKIP("not started as root");
        static struct netns_record same;
        struct netns_kept netns = make_netns(&fresh), other = make_netns(&same);
        struct visitor v = visit(netns.fd, CLONE_NEWNET, binds_name);
        CHECK(!netns_is_as_new(&netns, &fresh));
        CHECK(netns_is_as_new(&other, &fresh)); /* namespaces are distinguished */
        CHECK(end(v));
        CHECK(netns_is_as_new(&netns, &fresh));
        netns_let_go(&netns);
        netns_let_go(&other);
}

/* Without a process of its own: that takes long enough for the kernel to be done meanwhile. */
static bool name_is_free(int ns)
{
        AUTO(sys_close) int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
        AUTO(sys_close) int fd = -1;
        CHECK_INT(setns(ns, CLONE_NEWNET), 0);
        fd = bind_name();
        CHECK_INT(setns(home, CLONE_NEWNET), 0);
        return fd >= 0;
}

/* The kernel looks for such sockets when it comes to it: until then the name is taken. */
TEST(a_name_that_is_left_in_flight_is_noticed)
{
        if (geteuid() != 0)
                SKIP("not started as root");
        int not_new = 0, taken = 0;
        struct netns_kept netns = make_netns(&fresh);
        for (int i = 0; i < 500; i++) {
                CHECK(end(visit(netns.fd, CLONE_NEWNET, leaves_name_in_flight)));
                const bool as_new = netns_is_as_new(&netns, &fresh), is_free = name_is_free(netns.fd);
                CHECK(is_free || !as_new);
                not_new += !as_new;
                taken += !is_free;
                if (!as_new) {
                        netns_let_go(&netns);
                        netns = make_netns(&fresh);
                }
        }
        printf("# of 500 times it was not as new %d times, and the name still taken %d\n", not_new, taken);
        netns_let_go(&netns);
}
