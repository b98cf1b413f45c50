#include "keeper_fake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "sys/file.h"
#include "wire/init.h"
#include "wire/message.h"

double fake_now_ms(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

const char *fake_start_group;

double fake_slack(void)
{
        const char *text = getenv("CELLA_SLACK");
        return text && atof(text) > 1 ? atof(text) : 1;
}

double fake_patience(void)
{
        return 10 * fake_slack();
}

const char *fake_temporary(void)
{
        const char *path = getenv("TMPDIR");
        return path && path[0] == '/' ? path : "/tmp";
}

/* ---- as the server ---- */

static void add_file(char *text, size_t size, const char *path, char between)
{
        size_t used = strlen(text);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t n = fd < 0 ? 0 : read(fd, text + used, size - used - 1);
        if (fd >= 0)
                close(fd);
        if (n < 0)
                n = 0;
        for (ssize_t i = 0; i < n; i++)
                if (text[used + (size_t)i] == '\0')
                        text[used + (size_t)i] = between;
        text[used + (size_t)n] = '\0';
}

/* The fake server reports its identity, arguments, environment and descriptors. */
static void write_report(char *text, size_t size)
{
        text[0] = '\0';
        add_file(text, size, "/proc/self/status", ' ');
        strcat(text, "\nArguments: ");
        add_file(text, size, "/proc/self/cmdline", ' ');
        strcat(text, "\nEnvironment: ");
        add_file(text, size, "/proc/self/environ", ' ');
        strcat(text, "\nDescriptors:");
        for (int fd = 0; fd < 256; fd++)
                if (fcntl(fd, F_GETFD) >= 0)
                        snprintf(text + strlen(text), size - strlen(text), " %d", fd);
        int signal = 0;
        prctl(PR_GET_PDEATHSIG, &signal);
        snprintf(text + strlen(text), size - strlen(text), "\nDeathSignal: %d\nGroup: %s\nRoot: %s\n", signal,
                 getpgrp() == getpid() ? "own" : "shared",
                 geteuid() != 0 && (setuid(0) == 0 || seteuid(0) == 0) ? "yes" : "no");
}

static bool send_fd(int socket, int fd, const void *data, size_t len)
{
        char control[CMSG_SPACE(sizeof fd)] = {0};
        struct iovec part = {(void *)data, len};
        struct msghdr msg = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
        return sendmsg(socket, &msg, MSG_NOSIGNAL) == (ssize_t)len;
}

static ssize_t receive_fds(int socket, void *data, size_t size, int *ret_fd, struct fake_daemon *d)
{
        char control[CMSG_SPACE(sizeof(int) * 8)];
        struct iovec part = {data, size};
        struct msghdr msg = {
                .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
        ssize_t n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC);
        *ret_fd = -1;
        while (d->n_more > 0)
                close(d->more[--d->n_more]);
        for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
                size_t came = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || came == 0)
                        continue;
                memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
                d->n_more = (unsigned)came - 1;
                memcpy(d->more, CMSG_DATA(c) + sizeof *ret_fd, d->n_more * sizeof *d->more);
        }
        return n;
}

_Noreturn static void be_server(const char *state)
{
        static char report[8192];
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        char how;
        write_report(report, sizeof report); /* before there is a descriptor more */
        snprintf(address.sun_path, sizeof address.sun_path, "%s/test.sock", state);
        int link = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (connect(link, (struct sockaddr *)&address, sizeof address) < 0 ||
            !send_fd(link, 3, report, strlen(report) + 1))
                _exit(9);
        for (;;) {
                if (read(link, &how, 1) != 1)
                        _exit(8);
                if (how == 'q')
                        _exit(0);
                if (how == 'e')
                        _exit(3);
                if (how == 'c')
                        close(3);
                if (how == 'k')
                        kill(getpid(), SIGKILL);
        }
}

/* Before main(), and before any test registers. */
__attribute__((constructor(101))) static void maybe_server(int argc, char **argv)
{
        if (argc > 2 && !strcmp(argv[0], "cella-server") && !strcmp(argv[1], "--state"))
                be_server(argv[2]);
}

/* ---- as the test ---- */

static bool copy_program(const char *from, const char *to)
{
        char block[65536];
        int in = open(from, O_RDONLY | O_CLOEXEC),
            out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
        ssize_t n = -1;
        while (in >= 0 && out >= 0 && (n = read(in, block, sizeof block)) > 0)
                if (write(out, block, (size_t)n) != n)
                        break;
        close(in);
        close(out);
        return n == 0;
}

/* cella is the first argument of the test, or where the build puts it. */
static void find_cella(char *ret, size_t size)
{
        char line[4096] = "";
        int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
        ssize_t n = read(fd, line, sizeof line - 1);
        close(fd);
        size_t first = strlen(line) + 1;
        if (n > 0 && first < (size_t)n) {
                snprintf(ret, size, "%s", line + first);
                return;
        }
        n = readlink("/proc/self/exe", line, sizeof line - 1);
        line[n > 0 ? n : 0] = '\0';
        *strrchr(line, '/') = '\0';
        snprintf(ret, size, "%s/../src/cella", line);
}

static bool make_directory(struct fake_daemon *d)
{
        char path[512], to[128];
        snprintf(d->directory, sizeof d->directory, "%s/cella-test-XXXXXX", fake_temporary());
        if (!mkdtemp(d->directory) || chmod(d->directory, 0755) < 0)
                return false;
        find_cella(path, sizeof path);
        snprintf(to, sizeof to, "%s/cella", d->directory);
        if (!copy_program(path, to))
                return false;
        snprintf(to, sizeof to, "%s/cella-server", d->directory);
        if (!copy_program("/proc/self/exe", to))
                return false;
        snprintf(to, sizeof to, "%s/state", d->directory);
        return mkdir(to, 0700) == 0;
}

static int listen_for_server(struct fake_daemon *d)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        snprintf(address.sun_path, sizeof address.sun_path, "%s/state/test.sock", d->directory);
        unlink(address.sun_path);
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 1) < 0 ||
            chmod(address.sun_path, 0777) < 0) {
                close(fd);
                return -1;
        }
        return fd;
}

_Noreturn static void become_daemon(struct fake_daemon *d, const char *const *arguments)
{
        char program[128], state[128], socket[128], log[128];
        const char *argv[32] = {"cella", "serve",    "--listen", "none",      "--state",
                                state,   "--socket", socket,     "--workers", "1"};
        int n = 10;
        snprintf(program, sizeof program, "%s/cella", d->directory);
        snprintf(state, sizeof state, "%s/state", d->directory);
        snprintf(socket, sizeof socket, "%s/cella.sock", d->directory);
        snprintf(log, sizeof log, "%s/log", d->directory);
        while (arguments && *arguments && n < 30)
                argv[n++] = *arguments++;
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        dup2(fd, STDERR_FILENO);
        if (fake_start_group) {
                fd = open(fake_start_group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                if (sys_write_file(fd, "cgroup.procs", "0") < 0)
                        _exit(125);
        }
        execv(program, (char *const *)argv);
        _exit(126);
}

bool fake_start(struct fake_daemon *d, bool keep, const char *const *arguments)
{
        double begun = 0;
        if (!keep) {
                memset(d, 0, sizeof *d);
                if (!make_directory(d))
                        return false;
        }
        if (keep && d->egress >= 0)
                close(d->egress);
        d->link = d->keeper = d->egress = -1;
        d->n_egress = 0;
        int listener = listen_for_server(d);
        if (listener < 0)
                return false;
        begun = fake_now_ms();
        d->pid = fork();
        if (d->pid == 0)
                become_daemon(d, arguments);
        struct pollfd fd = {listener, POLLIN, 0};
        for (int i = 0; i < 500 * fake_patience() && d->link < 0; i++) {
                if (poll(&fd, 1, 10) > 0)
                        d->link = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
                else if (waitid(P_PID, (id_t)d->pid, &(siginfo_t){0}, WEXITED | WNOHANG | WNOWAIT) < 0 ||
                         fake_wait(d, -1) >= 0)
                        break;
        }
        close(listener);
        if (d->link < 0 || receive_fds(d->link, d->report, sizeof d->report, &d->keeper, d) <= 0)
                return false;
        d->ready_ms = fake_now_ms() - begun;
        struct ucred peer;
        socklen_t len = sizeof peer;
        if (getsockopt(d->link, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
                d->server = peer.pid;
        return d->keeper >= 0;
}

void fake_up(struct fake_daemon *d, const char *const *arguments)
{
        char log[4096];
        if (fake_start(d, false, arguments))
                return;
        fake_log(d, log, sizeof log);
        printf("# the daemon did not come up: %s\n", log);
        fake_done(d);
        exit(EXIT_FAILURE);
}

void fake_tell(struct fake_daemon *d, char how)
{
        if (write(d->link, &how, 1) != 1)
                fprintf(stderr, "the fake server is gone\n");
}

/* ms -1: only looks, and leaves it unreaped. */
int fake_wait(struct fake_daemon *d, int ms)
{
        double until = fake_now_ms() + ms * fake_patience();
        siginfo_t info;
        for (;;) {
                info.si_pid = 0;
                if (waitid(P_PID, (id_t)d->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
                        return -1;
                if (info.si_pid) {
                        if (ms >= 0) {
                                waitpid(d->pid, NULL, 0);
                                d->pid = 0;
                        }
                        return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
                }
                if (fake_now_ms() >= until)
                        return -1;
                usleep(1000);
        }
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
        (void)st, (void)type, (void)where;
        return remove(path);
}

void fake_done(struct fake_daemon *d)
{
        if (!d->directory[0])
                return;
        if (d->pid > 0) {
                kill(d->pid, SIGKILL);
                waitpid(d->pid, NULL, 0);
        }
        if (d->keeper >= 0)
                close(d->keeper);
        if (d->link >= 0)
                close(d->link);
        if (d->egress >= 0)
                close(d->egress);
        nftw(d->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        memset(d, 0, sizeof *d);
}

void fake_log(const struct fake_daemon *d, char *text, size_t size)
{
        char path[128];
        snprintf(path, sizeof path, "%s/log", d->directory);
        text[0] = '\0';
        add_file(text, size, path, ' ');
}

bool fake_send(struct fake_daemon *d, const void *packet, size_t len)
{
        return send(d->keeper, packet, len, MSG_NOSIGNAL) == (ssize_t)len;
}

ssize_t fake_receive(struct fake_daemon *d, union fake_packet *packet, int *fd, int ms)
{
        struct pollfd p = {d->keeper, POLLIN, 0};
        const double until = fake_now_ms() + ms * fake_patience();
        for (;;) {
                double left = until - fake_now_ms();
                int got;
                memset(packet, 0, sizeof *packet);
                if (poll(&p, 1, left > 0 ? (int)left : 0) <= 0)
                        return -1;
                ssize_t n = receive_fds(d->keeper, packet, sizeof *packet, &got, d);
                if (n == sizeof packet->about && packet->type == KEEPER_EGRESS) {
                        if (d->egress >= 0)
                                close(d->egress);
                        d->egress = got;
                        d->n_egress++;
                        continue;
                }
                if (fd)
                        *fd = got;
                else if (got >= 0)
                        close(got);
                return n < 0 ? 0 : n;
        }
}

bool fake_ask(struct fake_daemon *d, uint32_t what, uint32_t handle, uint32_t type, union fake_packet *answer)
{
        static uint32_t number = 1000;
        const struct keeper_about about = {.type = what, .number = ++number, .sandbox = handle};
        union fake_packet own;
        if (!answer)
                answer = &own;
        if (!fake_send(d, &about, sizeof about))
                return false;
        while (type != 0) {
                if (fake_receive(d, answer, NULL, 12000) <= 0)
                        return false;
                if (answer->type == KEEPER_FAILED && type != KEEPER_FAILED)
                        printf("# asked %u: %s\n", what, answer->failed.err.msg);
                if (answer->type != KEEPER_DIED)
                        return answer->type == type && answer->number == number;
        }
        return true;
}

void fake_fill(struct keeper_make *make)
{
        memset(make, 0, sizeof *make);
        make->type = KEEPER_MAKE;
        make->number = 7;
        strcpy(make->id, "sbx_test");
        cella_limits_default(&make->limits);
}

bool fake_make(struct fake_daemon *d, const struct keeper_make *make, struct fake_sandbox *ret)
{
        union fake_packet answer;
        struct keeper_make standard;
        if (!make) {
                fake_fill(&standard);
                make = &standard;
        }
        ret->control = -1;
        if (!fake_send(d, make, sizeof *make))
                return false;
        do {
                if (fake_receive(d, &answer, &ret->control, 5000) <= 0)
                        return false;
        } while (answer.type == KEEPER_DIED);
        if (answer.type == KEEPER_FAILED)
                printf("# make failed: %s\n", answer.failed.err.msg);
        if (answer.type != KEEPER_MADE || answer.number != make->number || ret->control < 0)
                return false;
        ret->made = answer.made;
        ret->handle = answer.made.sandbox;
        return true;
}

bool fake_ready(struct fake_sandbox *s)
{
        struct message m;
        static char data[INIT_REPLY_MAX];
        s->n_way_out = 0;
        int r = message_receive(s->control, &m, data, sizeof data);
        if (r > 0 && m.type == INIT_NETWORK) {
                for (s->n_way_out = m.n_fds; m.n_fds > 2;)
                        close(m.fds[--m.n_fds]);
                memcpy(s->way_out, m.fds, m.n_fds * sizeof *m.fds);
                r = message_receive(s->control, &m, data, sizeof data);
        }
        if (r > 0 && m.type == INIT_FAILED)
                printf("# init failed: %s\n", ((struct cella_err *)(void *)data)->msg);
        return r > 0 && m.type == INIT_READY;
}

bool fake_spawn(struct fake_sandbox *s, const char *script, bool final)
{
        const struct init_spawn head = {.argc = 3, .envc = 1, .flags = final ? INIT_FINAL : 0};
        const char *const words[] = {"/", "/bin/sh", "-c", script, "PATH=/usr/bin:/bin"};
        char text[4096];
        size_t len = 0;
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
                memcpy(text + len, words[i], strlen(words[i]) + 1);
                len += strlen(words[i]) + 1;
        }
        int null = open("/dev/null", O_RDWR | O_CLOEXEC), fds[] = {null, null, null};
        int r = message_send(s->control, INIT_SPAWN, 1, fds, 3, &head, sizeof head, text, len);
        close(null);
        return r == 0;
}

int fake_exited(struct fake_sandbox *s)
{
        struct message m;
        static char data[INIT_REPLY_MAX];
        struct init_exited exited;
        if (message_receive(s->control, &m, data, sizeof data) <= 0)
                return -1;
        if (m.type == INIT_FAILED)
                printf("# init failed: %s\n", ((struct cella_err *)(void *)data)->msg);
        if (m.type != INIT_EXITED)
                return -1;
        memcpy(&exited, data, sizeof exited);
        return exited.wait_status;
}

static size_t children(pid_t pid, pid_t *ret, size_t max)
{
        char path[64], text[16384] = "";
        size_t n = 0;
        snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
        add_file(text, sizeof text, path, ' ');
        for (char *p = text, *end; n < max; p = end) {
                long child = strtol(p, &end, 10);
                if (end == p)
                        break;
                ret[n++] = (pid_t)child;
        }
        return n;
}

size_t fake_descendants(pid_t pid, pid_t *ret, size_t max)
{
        size_t n = children(pid, ret, max);
        for (size_t i = 0; i < n; i++)
                n += children(ret[i], ret + n, max - n);
        return n;
}

size_t fake_alive(const pid_t *pids, size_t n)
{
        size_t alive = 0;
        for (size_t i = 0; i < n; i++) {
                char path[64], text[512] = "";
                snprintf(path, sizeof path, "/proc/%d/stat", (int)pids[i]);
                add_file(text, sizeof text, path, ' ');
                const char *state = strrchr(text, ')');
                alive += state && state[1] && state[2] != 'Z' && state[2] != 'X';
        }
        return alive;
}

void fake_group(pid_t pid, char *ret, size_t size)
{
        char path[64], text[4096] = "";
        snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
        add_file(text, sizeof text, path, ' ');
        const char *name = strstr(text, "/cella-");
        ret[0] = '\0';
        if (name && name[7] >= '0' && name[7] <= '9')
                snprintf(ret, size, "%.*s", (int)strcspn(name + 1, "\n/"), name + 1);
}

static const char *wanted;
static char found[512];
static int look(const char *path, const struct stat *st, int type, struct FTW *where)
{
        (void)st;
        if (type != FTW_D)
                return FTW_CONTINUE;
        if (!strcmp(path + where->base, wanted)) {
                snprintf(found, sizeof found, "%s", path);
                return FTW_STOP;
        }
        return strncmp(path + where->base, "cella-", 6) != 0 ? FTW_CONTINUE : FTW_SKIP_SUBTREE;
}

bool fake_group_find(const char *below, const char *name, char *ret, size_t size)
{
        wanted = name;
        found[0] = '\0';
        nftw(below, look, 16, FTW_PHYS | FTW_ACTIONRETVAL);
        if (ret)
                snprintf(ret, size, "%s", found);
        return found[0];
}

bool fake_group_exists(const char *name)
{
        return fake_group_find("/sys/fs/cgroup", name, NULL, 0);
}

/* A file or directory of a sandbox's control group. */
static bool is_groups(const char *link)
{
        const char *name = strstr(link, "/cella-");
        return !strncmp(link, "/sys/fs/cgroup/", 15) && name && name[7] >= '0' && name[7] <= '9';
}

struct fake_held fake_held(pid_t pid)
{
        char path[64], link[512];
        struct fake_held held = {0};
        snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
        DIR *dir = opendir(path);
        for (struct dirent *e; dir && (e = readdir(dir));) {
                ssize_t len = readlinkat(dirfd(dir), e->d_name, link, sizeof link - 1);
                link[len > 0 ? len : 0] = '\0';
                if (len <= 0)
                        continue;
                int *kind = !strncmp(link, "net:", 4)                              ? &held.networks
                            : !strncmp(link, "/proc/", 6) && strstr(link, "/net/") ? &held.counters
                            : !strncmp(link, "ipc:", 4)                            ? &held.ipc
                            : !strncmp(link, "mnt:", 4)                            ? &held.views
                            : !strncmp(link, "user:", 5)                           ? &held.users
                            : is_groups(link)                                      ? &held.groups
                                                                                   : &held.others;
                ++*kind;
        }
        if (dir)
                closedir(dir);
        return held;
}

int fake_mounts(const struct fake_daemon *d)
{
        static char text[262144];
        char path[64];
        int n = 0;
        snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)d->pid);
        FILE *f = fopen(path, "re");
        while (f && fgets(text, sizeof text, f))
                n += strstr(text, d->directory) != NULL;
        if (f)
                fclose(f);
        return n;
}
