/* daemon/filter.c -- the system call filter of the server itself.
 *
 * The server already has its sockets and makes only threads, so it needs neither socket() nor exec nor
 * fork. An attacker who takes it over through a request cannot start a program. */
#include "daemon/filter.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>

#include "base/auto.h"
#include "base/err.h"
#include "sys/own_filter.h"

static const char *const calls[] = {
        /* descriptors */
        "pwritev",
        "preadv",
        "close_range",
        "sync_file_range",
        "sendfile",
        "memfd_create",
        /* the event loop */
        "epoll_pwait2",
        "timerfd_create",
        "timerfd_settime",
        "timer_create", /* engine/link/pty.c */
        "timer_settime",
        /* incoming connections */
        "accept",
        "accept4",
        "listen",
        /* signals and time */
        "rt_sigpending",
        "rt_sigtimedwait",
        /* the process itself */
        "times",
};

/* ioctls: whether a descriptor is a terminal, its size, and the unsent bytes of a connection. */
static int add_conditional(scmp_filter_ctx filter)
{
        return own_filter_ioctl(filter, TIOCGPTN) | own_filter_ioctl(filter, TIOCSWINSZ) |
               own_filter_ioctl(filter, SIOCOUTQ);
}

int filter_load(struct cella_err *err)
{
        const struct own_filter own = {calls, ARRAY_LEN(calls), add_conditional, .all_threads = true};
        int r = own_filter_load(&own);
        return r < 0 ? err_set(err, CELLA_ISOLATION_UNAVAILABLE, r,
                               "seccomp: cannot filter the server itself")
                     : 0;
}
