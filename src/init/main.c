/* init/main.c -- PID 1 of a sandbox.
 *
 * A static program.  It starts with its owner's privilege and nothing of its owner's
 * memory, raises the walls around itself (jail/), and from then on stands behind all of
 * them, as the same user as the code.  It does what its owner asks over one socket: write a
 * file, start a command, signal, list what changed.  It reaps everything, and when the
 * command ends it ends the rest before it says so.  The code cannot stop or kill it: the
 * kernel drops signals to PID 1 from within that it has no handler for; it cannot trace it
 * either (not dumpable), nor change its limits (seccomp).  The owner does not trust it all
 * the same.
 *
 * When the owner goes away the socket closes, init exits, and the kernel kills all. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "init/init.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

static char request[INIT_REQUEST_MAX]; /* pages not touched cost nothing */
static bool final;                     /* exit when it has ended */
static pid_t command;                  /* 0: none is running */

static void reply(enum init_reply type, const void *data, size_t len)
{
        message_send(INIT_CONTROL_FD, type, 0, NULL, 0, data, len, NULL, 0);
}

static void reply_failed(enum cella_kind kind, int num, const char *what)
{
        struct cella_err err = {0};
        err_set(&err, kind, num, "%s", what);
        reply(INIT_FAILED, &err, sizeof err);
}

static void fill_usage(struct init_exited *exited)
{
        struct rusage usage;
        struct statfs disk;
        if (sys_call2(SYS_getrusage, RUSAGE_CHILDREN, &usage) == 0) {
                exited->cpu_us = (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000u +
                                 (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
                exited->rss_peak_bytes = (uint64_t)usage.ru_maxrss * 1024;
        }
        if (statfs("/tmp", &disk) == 0) {
                exited->disk_bytes_free = (uint64_t)disk.f_bfree * (uint64_t)disk.f_bsize;
                exited->disk_inodes_free = disk.f_ffree;
        }
}

/* Ends every other process of the sandbox and waits until they are gone. */
static void end_all(void)
{
        /* Outside a process namespace of our own (a test without that wall), -1 would be
         * everybody. */
        if (getpid() != 1)
                return;
        while (sys_wait(-1, NULL, WNOHANG, NULL) != -ECHILD) {
                sys_kill(-1, SIGKILL);
                sys_wait(-1, NULL, 0, NULL);
        }
}

static void command_ended(int status)
{
        struct init_exited exited = {.wait_status = status};
        command = 0;
        end_all();
        fill_usage(&exited);
        reply(INIT_EXITED, &exited, sizeof exited);
        if (final)
                sys_exit(0);
}

static void reap(void)
{
        for (;;) {
                int status;
                pid_t pid = sys_wait(-1, &status, WNOHANG, NULL);
                if (pid <= 0)
                        return;
                if (pid == command)
                        command_ended(status);
        }
}

static void handle(const struct message *message)
{
        int r;
        switch (message->type) {
        case INIT_PUT_FILE:
                r = put_file(message, request);
                if (r < 0)
                        reply_failed(CELLA_INVALID_REQUEST, r, "cannot write the code's file");
                else
                        reply(INIT_DONE, NULL, 0);
                break;
        case INIT_SPAWN:
                r = command ? -EBUSY : spawn(message, request, &final);
                if (r < 0)
                        reply_failed(CELLA_NOT_FOUND, r, "cannot start the command");
                else
                        command = r;
                break;
        case INIT_SIGNAL:
                if (message->len == sizeof(struct init_signal) && getpid() == 1) {
                        struct init_signal signal;
                        memcpy(&signal, request, sizeof signal);
                        sys_kill(-1, signal.signal);
                }
                break;
        case INIT_LIST:
                if (message->len == sizeof(struct init_list)) {
                        struct init_list list;
                        memcpy(&list, request, sizeof list);
                        list_files(&list);
                }
                break;
        default:
                reply_failed(CELLA_INTERNAL, -EPROTO, "unknown request");
        }
        for (unsigned i = 0; i < message->n_fds; i++)
                sys_close(message->fds[i]);
}

/* Fills 0 to 2, so that nothing opened later can land there. */
static void open_standard(void)
{
        int fd;
        do {
                fd = sys_openat(AT_FDCWD, "/dev/null", O_RDWR, 0);
        } while (fd >= 0 && fd < 2);
        if (fd > 2)
                sys_close(fd);
}

static int raise_walls(uint32_t *ret_walls)
{
        struct message message;
        struct cella_err err = {0};
        if (message_receive(INIT_CONTROL_FD, &message, request, sizeof request) <= 0)
                return -EPIPE;
        int r = build(&message, request, ret_walls, &err);
        if (r < 0)
                reply(INIT_FAILED, &err, sizeof err);
        return r;
}

/* Deaths come as readable bytes; everything else keeps its default. */
static int open_deaths(void)
{
        sigset_t children;
        sigemptyset(&children);
        sigaddset(&children, SIGCHLD);
        sigprocmask(SIG_SETMASK, &children, NULL);
        return signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A signal that the caller ignores would be ignored in the code too. */
static void default_signals(void)
{
        const char none[4 * sizeof(long)] = {0}; /* the kernel's struct sigaction: SIG_DFL is 0 */
        for (int signal = 1; signal <= 64; signal++)
                sys_call4(SYS_rt_sigaction, signal, none, 0, 8);
}

int main(void)
{
        default_signals();
        uint32_t walls = 0;
        if (raise_walls(&walls) < 0)
                return 1;
        sys_call3(SYS_fcntl, INIT_CONTROL_FD, F_SETFD, FD_CLOEXEC);
        for (int fd = 0; fd < 3; fd++)
                sys_close(fd);
        open_standard();
        int deaths = open_deaths();
        if (deaths < 0)
                return 1;
        reply(INIT_READY, &walls, sizeof walls);

        struct pollfd ready[] = {{INIT_CONTROL_FD, POLLIN, 0}, {deaths, POLLIN, 0}};
        for (;;) {
                int n = sys_poll(ready, 2, -1);
                if (n == -EINTR)
                        continue;
                if (n < 0) /* nothing good can come of going on */
                        return 1;
                if (ready[1].revents) {
                        struct signalfd_siginfo info[8];
                        sys_read(deaths, info, sizeof info);
                        reap();
                }
                if (ready[0].revents) {
                        struct message message;
                        if (message_receive(INIT_CONTROL_FD, &message, request, sizeof request) <= 0)
                                return 0;
                        handle(&message);
                }
        }
}
