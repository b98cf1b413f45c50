/* Whether a namespace that served a sandbox may serve another: only if nothing of the first is left in it. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/ipcns.h"
#include "jail/netns.h"
#include "sys/file.h"
#include "sys/process.h"
#include "test.h"

#define NAME "used_parts"

static struct netns_record fresh;

/* A new one, as the keeper makes them ahead; and what it says of itself. */
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

/* A process in the namespace, in which it does something and says so.  It lives until it is let go. */
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

/* Nobody sends anything: neither packets nor failures are counted.  Returns the socket. */
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

/* What is on its way through a socket that is itself on its way: nobody will ever receive it. */
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
        CHECK(netns_is_as_new(&other, &fresh)); /* whose it is is told apart */
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

#define KEY 0x63656c6c
#define QUEUE "/used_parts"

static bool makes_memory(void)
{
        return shmget(KEY, 4096, IPC_CREAT | 0600) == 0;
}

static bool makes_and_removes_memory(void)
{
        int id = shmget(IPC_PRIVATE, 4096, 0600);
        return id == 0 && shmctl(id, IPC_RMID, NULL) == 0;
}

static bool makes_semaphore(void)
{
        return semget(KEY, 1, IPC_CREAT | 0600) == 0;
}

static bool makes_and_removes_semaphore(void)
{
        int id = semget(IPC_PRIVATE, 1, 0600);
        return id == 0 && semctl(id, 0, IPC_RMID) == 0;
}

static bool makes_messages(void)
{
        return msgget(KEY, IPC_CREAT | 0600) == 0;
}

static bool makes_and_removes_messages(void)
{
        int id = msgget(IPC_PRIVATE, 0600);
        return id == 0 && msgctl(id, IPC_RMID, NULL) == 0;
}

static bool makes_queue(void)
{
        return mq_open(QUEUE, O_CREAT | O_RDWR, 0600, NULL) >= 0;
}

static bool makes_and_removes_queue(void)
{
        return makes_queue() && mq_unlink(QUEUE) == 0;
}

static bool leaves_queue_in_flight(void)
{
        mqd_t queue = mq_open(QUEUE, O_CREAT | O_RDWR, 0600, NULL);
        return queue >= 0 && mq_unlink(QUEUE) == 0 && leave_in_flight(queue);
}

static bool looks_around(void)
{
        return shmget(KEY, 0, 0) < 0 && semget(KEY, 0, 0) < 0 && msgget(KEY, 0) < 0 &&
               mq_open(QUEUE, O_RDWR) < 0 && mq_unlink(QUEUE) < 0 &&
               shmctl(0, IPC_STAT, &(struct shmid_ds){0}) < 0;
}

/* Who has no right over the namespace cannot say that nothing was made, nor change what holds in it. */
static bool changes_nothing(void)
{
        static const char *const files[] = {
                "kernel/shm_next_id",     "kernel/sem_next_id",   "kernel/msg_next_id",
                "kernel/shmmax",          "kernel/shmall",        "kernel/shmmni",
                "kernel/shm_rmid_forced", "kernel/msgmax",        "kernel/msgmnb",
                "kernel/msgmni",          "kernel/sem",           "kernel/auto_msgmni",
                "fs/mqueue/msg_max",      "fs/mqueue/queues_max",
        };
        if (setresgid(12345, 12345, 12345) < 0 || setresuid(12345, 12345, 12345) < 0 ||
            unshare(CLONE_NEWUSER) < 0)
                return false;
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                char path[64];
                snprintf(path, sizeof path, "/proc/sys/%s", files[i]);
                if (access(path, F_OK) == 0 && open(path, O_WRONLY) >= 0)
                        return false;
        }
        return unshare(CLONE_NEWNS) == 0 && mount("mqueue", "/tmp", "mqueue", 0, NULL) < 0;
}

/* Numbers are given as in any new namespace. */
static bool counts_from_zero(void)
{
        return shmget(KEY, 4096, IPC_CREAT | 0600) == 0 && shmget(IPC_PRIVATE, 4096, 0600) == 1 &&
               semget(KEY, 1, IPC_CREAT | 0600) == 0 && semget(IPC_PRIVATE, 1, 0600) == 1 &&
               msgget(KEY, IPC_CREAT | 0600) == 0 && msgget(IPC_PRIVATE, 0600) == 1 && makes_queue();
}

/* As the keeper has them; false: this kernel cannot tell. */
static bool make_ipc(struct ipcns_kept *ret)
{
        struct stat before, after;
        *ret = IPCNS_NONE;
        CHECK(stat("/proc/thread-self/ns/ipc", &before) == 0);
        const int r = ipcns_make(ret);
        CHECK(stat("/proc/thread-self/ns/ipc", &after) == 0 && before.st_ino == after.st_ino);
        CHECK(r == 0 || access("/proc/sys/kernel/shm_next_id", F_OK) < 0 || r == -ENOTSUP ||
              r == -ENOSYS); /* the last: valgrind does not know how to mount queues */
        CHECK_INT(ret->fd >= 0, r == 0);
        return r == 0;
}

TEST(an_ipc_namespace_in_which_something_was_made_is_not_as_new)
{
        static const struct {
                bool (*what)(void);
                bool as_new;
        } cases[] = {
                {does_nothing, true},
                {looks_around, true},
                {changes_nothing, true},
                {makes_memory, false},
                {makes_and_removes_memory, false},
                {makes_semaphore, false},
                {makes_and_removes_semaphore, false},
                {makes_messages, false},
                {makes_and_removes_messages, false},
                {makes_queue, false},
                {makes_and_removes_queue, false},
                {leaves_queue_in_flight, false},
                {counts_from_zero, false},
        };
        if (geteuid() != 0)
                SKIP("not started as root");
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct ipcns_kept ipc, other;
                if (!make_ipc(&ipc) || !make_ipc(&other))
                        SKIP("this kernel does not tell what was made in an IPC namespace");
                CHECK(ipcns_is_as_new(&ipc));
                struct visitor v = visit(ipc.fd, CLONE_NEWIPC, cases[i].what);
                const bool while_it_lives = ipcns_is_as_new(&ipc);
                const bool ended = end(v), after = ipcns_is_as_new(&ipc);
                if (!ended || while_it_lives != cases[i].as_new || after != cases[i].as_new)
                        printf("# case %zu\n", i);
                CHECK(ended);
                CHECK_INT(while_it_lives, cases[i].as_new);
                CHECK_INT(after, cases[i].as_new);
                CHECK(ipcns_is_as_new(&other));
                if (cases[i].as_new) /* and all is as in a new one, for who comes next */
                        CHECK(end(visit(ipc.fd, CLONE_NEWIPC, counts_from_zero)));
                ipcns_let_go(&ipc);
                ipcns_let_go(&other);
        }
}

/* What the one above expects of ours, of one that is not. */
TEST(numbers_are_those_of_any_ipc_namespace)
{
        if (geteuid() != 0)
                SKIP("not started as root");
        int home = open("/proc/thread-self/ns/ipc", O_RDONLY | O_CLOEXEC);
        CHECK_INT(unshare(CLONE_NEWIPC), 0);
        int plain = open("/proc/thread-self/ns/ipc", O_RDONLY | O_CLOEXEC);
        CHECK_INT(setns(home, CLONE_NEWIPC), 0);
        CHECK(end(visit(plain, CLONE_NEWIPC, counts_from_zero)));
        close(plain);
        close(home);
}

TEST(none_of_these_is_a_descriptor)
{
        struct ipcns_kept none = IPCNS_NONE;
        CHECK(!ipcns_is_as_new(&none));
        ipcns_let_go(&none);
        CHECK(fcntl(0, F_GETFD) >= 0);
}
