#include "engine/link/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sys/file.h"

#define PATIENCE_NS 20000000 /* a call that does not block takes microseconds */
#define AGAIN_NS 5000000     /* repeated in case the signal came just before the call */
#define PTMX_MAJOR 5
#define PTMX_MINOR 2

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static int guard = -1; /* id of the timer */
static volatile sig_atomic_t interrupted;

static void pty_on_signal(int signal)
{
        (void)signal;
        interrupted = 1;
}

/* Makes a timer that sends its signal to this thread, which interrupts a blocked system call. */
static int guard_make(void)
{
        struct sigaction action = {.sa_handler = pty_on_signal};
        struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMAX - 1};
        sigset_t set;
        if (guard >= 0)
                return 0;
        event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
        sigemptyset(&action.sa_mask);
        sigemptyset(&set);
        sigaddset(&set, event.sigev_signo);
        if (sigaction(event.sigev_signo, &action, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &set, NULL) < 0 ||
            syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &guard) < 0)
                return -errno;
        return 0;
}

static void guard_set(long first_ns, long again_ns)
{
        const struct itimerspec time = {.it_value.tv_nsec = first_ns, .it_interval.tv_nsec = again_ns};
        syscall(SYS_timer_settime, guard, 0, &time, NULL);
}

static ssize_t guarded(int fd, void *to, const void *from, size_t len)
{
        interrupted = 0;
        guard_set(PATIENCE_NS, AGAIN_NS);
        ssize_t n = to ? read(fd, to, len) : write(fd, from, len);
        const int error = errno;
        guard_set(0, 0);
        if (n >= 0)
                return n;
        return error == EINTR && interrupted ? -EDEADLK : -error;
}

static bool is_nonblocking(int fd)
{
        const int flags = fcntl(fd, F_GETFL);
        return flags >= 0 && (flags & O_NONBLOCK);
}

ssize_t pty_read(int fd, void *data, size_t size)
{
        return is_nonblocking(fd) ? guarded(fd, data, NULL, size) : -EDEADLK;
}

ssize_t pty_write(int fd, const void *data, size_t len)
{
        return is_nonblocking(fd) ? guarded(fd, NULL, data, len) : -EDEADLK;
}

/* Every pty master has device number 5:2, and only a master answers TIOCGPTN. */
int pty_check(int fd)
{
        struct statx st;
        unsigned number;
        const int flags = fcntl(fd, F_GETFL);
        /* AT_STATX_DONT_SYNC: does not wait for a file server. */
        if (flags < 0)
                return -errno;
        int r = sys_statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st);
        if (r < 0)
                return r;
        if ((flags & O_PATH) || (flags & O_ACCMODE) != O_RDWR || !S_ISCHR(st.stx_mode) ||
            st.stx_rdev_major != PTMX_MAJOR || st.stx_rdev_minor != PTMX_MINOR ||
            ioctl(fd, TIOCGPTN, &number) < 0)
                return -ENOTTY;
        if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;
        return guard_make();
}
