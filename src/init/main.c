/* init/main.c -- PID 1 of a sandbox.
 *
 * A static program. It starts with the privileges of its owner and without its memory, and sets up the walls
 * around itself (jail/). From then on it is behind all of them, as the same user as the code. It carries out
 * the requests of its owner, which arrive over one socket: start commands, signal them, read and write files.
 * It reaps all processes. When a command ends, init kills the remaining processes of that command before it
 * reports the end (task.h). The code cannot stop or kill init: the kernel drops signals from inside to PID 1
 * that have no handler. The code cannot trace it (it is not dumpable) nor change its limits (seccomp). The
 * owner still does not trust it.
 *
 * When the owner exits, the socket closes, init exits, and the kernel kills all processes. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "init/attach.h"
#include "init/attempts.h"
#include "init/init.h"
#include "init/operate.h"
#include "init/refused.h"
#include "init/spawn.h"
#include "init/task.h"
#include "sys/ending.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

static BULKY char request[INIT_REQUEST_MAX]; /* untouched pages cost nothing */

void reply(enum init_reply type, uint32_t tag, const void *data, size_t len)
{
        message_send(INIT_CONTROL_FD, type, tag, NULL, 0, data, len, NULL, 0);
}

void reply_failed(uint32_t tag, enum cella_kind kind, int num, const char *what)
{
        struct cella_err err = {0};
        err_set(&err, kind, num, "%s", what);
        reply(INIT_FAILED, tag, &err, sizeof err);
}

static void init_handle(const struct message *message)
{
        struct init_signal signal;
        struct init_list list;
        struct init_room room;
        int r = -EPROTO;
        switch (message->type) {
        case INIT_PUT_FILE:
                r = put_file(request, message->len);
                if (r < 0)
                        reply_failed(message->tag, CELLA_INVALID_REQUEST, r, "cannot write the code's file");
                else
                        reply(INIT_DONE, message->tag, NULL, 0);
                break;
        case INIT_SPAWN:
                refused_forget();
                attempts_begin();
                r = spawn(message, request);
                if (r < 0)
                        reply_failed(message->tag, CELLA_NOT_FOUND, r, "cannot start the command");
                break;
        case INIT_OPERATE:
                r = operate(message, request);
                if (r < 0)
                        reply_failed(message->tag, CELLA_INTERNAL, r, "cannot start the file operation");
                break;
        case INIT_SIGNAL:
                if (message->len != sizeof signal)
                        break;
                memcpy(&signal, request, sizeof signal);
                tasks_signal(&signal);
                break;
        case INIT_LIST:
                if (message->len != sizeof list)
                        break;
                memcpy(&list, request, sizeof list);
                list_files(message->tag, &list, tasks_count() > 0);
                break;
        case INIT_FORGET:
                refused_forget();
                break;
        case INIT_ATTEMPTS:
                if (attempts_made() && message->tag != 0)
                        reply(INIT_UNREACHED, 0, NULL, 0);
                if (message->tag == 0)
                        break;
                tasks_room(&room);
                reply(INIT_DONE, message->tag, &room, sizeof room);
                break;
        default:
                reply_failed(message->tag, CELLA_INTERNAL, r, "unknown request");
        }
        for (unsigned i = 0; i < message->n_fds; i++)
                sys_close(message->fds[i]);
}

/* Opens descriptors 0 to 2, so that later descriptors do not get these numbers. */
static void open_standard(void)
{
        int fd = sys_openat(AT_FDCWD, "/dev/null", O_RDWR, 0);
        for (int other = 0; other < 3; other++)
                if (other != fd)
                        sys_dup3(fd, other, O_CLOEXEC);
        if (fd > 2)
                sys_close(fd);
}

static int raise_walls(struct init_ready *ret)
{
        struct message message;
        struct cella_err err = {0};
        int r;
        if (message_receive(INIT_CONTROL_FD, &message, request, sizeof request) <= 0)
                return -EPIPE;
        if (message.type == INIT_PLACE) {
                r = join_report_place();
                if (r < 0)
                        reply_failed(0, CELLA_ISOLATION_UNAVAILABLE, r,
                                     "net: cannot report the network namespace");
                if (r < 0 || message_receive(INIT_CONTROL_FD, &message, request, sizeof request) <= 0)
                        return -EPIPE;
        }
        r = message.type == INIT_JOIN ? join(&message, request, ret, &err)
                                      : build(&message, request, ret, &err);
        if (r < 0)
                reply(INIT_FAILED, 0, &err, sizeof err);
        return r;
}

/* SIGCHLD is received through a descriptor; other signals keep their default action. */
static int open_deaths(void)
{
        sigset_t children;
        sigemptyset(&children);
        sigaddset(&children, SIGCHLD);
        sigaddset(&children, ENDING_SIGNAL);
        sigprocmask(SIG_SETMASK, &children, NULL);
        return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The first process of a container: the socket is in a directory that it was given. If there is none, or
 * if it cannot connect, it uses standard input and output. */
static int find_owner(int argc, char **argv)
{
        const bool attaches = argc > 1 && !strcmp(argv[1], "--attach");
        int r = 0;
        if (argc == 3 && (attaches || !strcmp(argv[1], "--join")))
                r = join_connect(argv[2]);
        return attaches && (argc == 2 || r < 0) ? attach_begin() : r;
}

/* For docker/volume.h: root of the container gives a new volume to all of its users, as a tmpfs.  In the
 * image, /workspace may be a link to the place of another mount. */
static int give_workspace(void)
{
        AUTO(sys_close)
        int fd = sys_openat(AT_FDCWD, "/workspace", O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        return fd < 0 || sys_call2(SYS_fchmod, fd, 01777) < 0;
}

int main(int argc, char **argv)
{
        if (argc == 2 && !strcmp(argv[1], "--give"))
                return give_workspace();
        if (argc > 1) /* the container may start with ignored signals, which the code would inherit */
                sys_default_signals(~UINT64_C(0));
        if (find_owner(argc, argv) < 0)
                return INIT_NO_SOCKET;
        struct init_ready ready = {0};
        if (raise_walls(&ready) < 0 || attach_continue() < 0)
                attach_leave(1);
        sys_call3(SYS_fcntl, INIT_CONTROL_FD, F_SETFD, FD_CLOEXEC);
        for (int fd = 0; fd < 3; fd++)
                sys_close(fd);
        open_standard();
        int deaths = open_deaths();
        if (deaths < 0)
                return 1;
        ready.cpu_us = clock_cpu_us() - ready.cpu_us;
        ready.at_us = clock_us();
        reply(INIT_READY, 0, &ready, sizeof ready);

        for (;;) {
                struct pollfd polled[] = {
                        {INIT_CONTROL_FD, POLLIN, 0}, {deaths, POLLIN, 0}, {refused_fd(), POLLIN, 0}};
                int n = sys_poll(polled, ARRAY_LEN(polled), -1);
                if (n == -EINTR)
                        continue;
                if (n < 0) /* poll() itself failed: there is no way to continue */
                        return 1;
                /* One at a time, because the code can produce notifications without end. This comes first,
                 * while a notification is known to be pending: the next two calls may answer it as well,
                 * and then this call would block. */
                if (polled[2].revents)
                        refused_answer();
                if (polled[1].revents) {
                        struct signalfd_siginfo info[8];
                        ssize_t n_read = sys_read(deaths, info, sizeof info);
                        for (ssize_t i = 0; i < n_read / (ssize_t)sizeof *info; i++)
                                if (info[i].ssi_signo == ENDING_SIGNAL)
                                        tasks_announced((pid_t)info[i].ssi_pid, info[i].ssi_int);
                        tasks_reap();
                }
                if (polled[0].revents) {
                        struct message message;
                        if (message_receive(INIT_CONTROL_FD, &message, request, sizeof request) <= 0)
                                return 0;
                        init_handle(&message);
                        refused_received();
                }
        }
}
