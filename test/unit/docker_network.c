/* The way out of a container's network namespace: for whom it is made, and where it is not.  The init of the
 * container is this test's own. */
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "docker/network.h"
#include "docker/process.h"
#include "test.h"
#include "wire/egress.h"
#include "wire/message.h"

#define USER 12345 /* an unused uid */

struct process process;

static const char *unusable(void)
{
        return getenv("CELLA_TEST_SLOW") ? "valgrind does not know how its processes are made" : NULL;
}

static void set_loopback_up(void)
{
        struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
        int fd = socket(AF_INET, SOCK_DGRAM, 0);
        ioctl(fd, SIOCSIFFLAGS, &request);
        close(fd);
}

/* What the other side answers to INIT_PLACE: a descriptor of this file, in namespaces of its own. */
static void be_init(int control, const char *path, int namespaces)
{
        struct message m;
        if (namespaces && unshare(namespaces) < 0)
                _exit(1);
        if (namespaces & CLONE_NEWNET)
                set_loopback_up();
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (message_receive(control, &m, NULL, 0) > 0 && m.type == INIT_PLACE)
                message_send(control, INIT_DONE, 0, &fd, 1, NULL, 0, NULL, 0);
        message_receive(control, &m, NULL, 0); /* until the test ends */
        _exit(0);
}

static int open_at(const char *path, int namespaces, int ret[2], struct cella_err *err)
{
        int pair[2], r = message_pair(pair);
        pid_t pid = r < 0 ? -1 : fork();
        if (pid == 0) {
                close(pair[0]);
                be_init(pair[1], path, namespaces);
        }
        close(pair[1]);
        r = network_open(pair[0], ret, err);
        close(pair[0]);
        waitpid(pid, NULL, 0);
        return r;
}

static unsigned port_of(int fd)
{
        struct sockaddr_in6 address = {0};
        socklen_t size = sizeof address;
        return getsockname(fd, (struct sockaddr *)&address, &size) < 0 ? 0 : ntohs(address.sin6_port);
}

/* Changes to an ordinary user. */
static void become_user(void)
{
        if (geteuid() == 0 && (setresgid(USER, USER, USER) < 0 || setresuid(USER, USER, USER) < 0))
                _exit(100);
        prctl(PR_SET_DUMPABLE, 1);
}

static void see_own(void)
{
        struct stat st;
        process.outside[INIT_NS_NET] = stat("/proc/self/ns/net", &st) == 0 ? st.st_ino : 0;
}

/* In a child, as that user; its exit status is the number of the check that failed. */
static int as_user(int (*run)(void))
{
        int status = -1;
        pid_t pid = fork();
        if (pid == 0) {
                become_user();
                _exit(run());
        }
        waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int of_own_engine(void)
{
        struct cella_err err = {0};
        int fds[2] = {-1, -1};
        struct stat before, after;
        if (stat("/proc/self/ns/net", &before) < 0 ||
            open_at("/proc/self/ns/net", CLONE_NEWUSER | CLONE_NEWNET, fds, &err) < 0) {
                printf("%s\n", err.msg);
                return 1;
        }
        if (port_of(fds[0]) != EGRESS_PORT || port_of(fds[1]) != 53)
                return 2;
        return stat("/proc/self/ns/net", &after) < 0 || after.st_ino != before.st_ino ? 3 : 0;
}

TEST(the_user_of_a_rootless_engine_needs_no_right)
{
        if (unusable())
                SKIP(unusable());
        see_own();
        CHECK_INT(as_user(of_own_engine), 0);
}

static int roots_netns = -1;

static int of_roots_engine(void)
{
        struct cella_err err = {0};
        int fds[2] = {-1, -1};
        char path[40];
        snprintf(path, sizeof path, "/proc/self/fd/%d", roots_netns);
        if (open_at(path, 0, fds, &err) != -EPERM)
                return 1;
        return err.kind == CELLA_ISOLATION_UNAVAILABLE && strstr(err.hint, "root") && fds[0] < 0 ? 0 : 2;
}

static int make_netns(void)
{
        pid_t pid;
        int pair[2], fd = -1, r = message_pair(pair);
        struct message m;
        if (r < 0 || (pid = fork()) < 0)
                return -1;
        if (pid == 0) {
                int own = unshare(CLONE_NEWNET) < 0 ? -1 : open("/proc/self/ns/net", O_RDONLY);
                if (own >= 0)
                        message_send(pair[1], INIT_DONE, 0, &own, 1, NULL, 0, NULL, 0);
                _exit(0);
        }
        close(pair[1]);
        if (message_receive(pair[0], &m, NULL, 0) > 0 && m.n_fds == 1)
                fd = m.fds[0];
        close(pair[0]);
        waitpid(pid, NULL, 0);
        return fd;
}

TEST(a_user_may_not_enter_a_network_namespace_of_root)
{
        if (unusable())
                SKIP(unusable());
        if (geteuid() != 0)
                SKIP("not started as root");
        see_own();
        roots_netns = make_netns();
        CHECK(roots_netns >= 0);
        CHECK_INT(as_user(of_roots_engine), 0);
        close(roots_netns);
}

/* By one who has no right: should they not be refused, nothing comes of it. */
static int of_nobody(void)
{
        static const char *const paths[] = {"/proc/self/ns/net", "/proc/self/ns/mnt", "/dev/null"};
        for (int i = 0; i < 3; i++) {
                struct cella_err err = {0};
                int fds[2] = {-1, -1};
                if (open_at(paths[i], 0, fds, &err) != -EPERM || fds[0] >= 0 ||
                    strcmp(err.msg, "net: the container has no network namespace of its own") != 0)
                        return 1 + i;
        }
        return 0;
}

TEST(our_own_namespace_and_other_files_are_refused)
{
        if (unusable())
                SKIP(unusable());
        see_own();
        CHECK_INT(as_user(of_nobody), 0);
}

TEST(an_init_that_goes_away_is_an_error)
{
        struct cella_err err = {0};
        int pair[2], fds[2] = {-1, -1};
        CHECK_INT(message_pair(pair), 0);
        close(pair[1]);
        CHECK(network_open(pair[0], fds, &err) < 0);
        CHECK(err.kind != CELLA_OK);
        close(pair[0]);
}
