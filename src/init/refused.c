/* init/refused.c -- answers processes that made a refused system call marked REPORT.
 *
 * The kernel stops such a process and notifies init (seccomp user notification). init answers with the errno
 * that a filter without notification would have returned, and never lets a call through. It reports each name
 * once to the owner, which adds a violation to the result.
 *
 * Invariants:
 *
 *  - No process of ours (init, supervisor, helper) makes such a call: it would wait for its own answer.
 *  - Nothing here blocks.  The calling process may be killed or get a signal in the meantime; then reading or
 *    answering the notification fails with -ENOENT.  After a signal the kernel restarts the call and notifies
 *    again, unless the handler requests EINTR.
 *  - A flood delays only the processes that cause it: each waits for init, on CPU time of the sandbox, and
 *    requests of the owner and dead children are handled between any two notifications. */
#include "init/refused.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "init/init.h"
#include "jail/seccomp.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#define DRAIN_MAX 128 /* only a flood has more pending notifications */

static int listener = -1;

/* Each name has exactly one address, so pointers can be compared. */
static const char *reported[INIT_REFUSED_MAX];
static unsigned n_reported;

void refused_listen(int fd)
{
        listener = fd;
}

int refused_fd(void)
{
        return listener;
}

static bool ahead; /* the list was already forgotten before the owner's INIT_FORGET was read */

void refused_forget(void)
{
        if (!ahead)
                n_reported = 0;
}

void refused_received(void)
{
        ahead = false;
}

/* Well-known socket families have their own name; the others share one, so that they cannot fill the list. */
static const char *socket_name(const struct seccomp_data *call)
{
        static const struct {
                unsigned family;
                const char *name;
        } families[] = {
                {AF_ALG, "socket(AF_ALG)"},   {AF_BLUETOOTH, "socket(AF_BLUETOOTH)"},
                {AF_CAN, "socket(AF_CAN)"},   {AF_KEY, "socket(AF_KEY)"},
                {AF_RDS, "socket(AF_RDS)"},   {AF_NETLINK, "socket(NETLINK_NETFILTER)"},
                {AF_TIPC, "socket(AF_TIPC)"}, {AF_PACKET, "socket(AF_PACKET)"},
                {AF_XDP, "socket(AF_XDP)"},   {AF_VSOCK, "socket(AF_VSOCK)"},
        };
        const unsigned family = (unsigned)call->args[0];
        if ((family == AF_INET || family == AF_INET6) && (call->args[1] & 0xf) == SOCK_RAW)
                return "socket(SOCK_RAW)";
        for (size_t i = 0; i < ARRAY_LEN(families); i++)
                if (families[i].family == family)
                        return families[i].name;
        return seccomp_name(call);
}

static const char *call_name(const struct seccomp_data *call)
{
        switch (call->nr) {
        case SYS_socket:
                return socket_name(call);
        case SYS_ioctl:
                return "ioctl(TIOCSTI)";
        default:
                return seccomp_name(call);
        }
}

/* These programs try io_uring at each start and continue without it; the code did not ask for it. A
 * program that uses such a name only avoids the report. */
static bool is_habit(const struct seccomp_notif *question)
{
        static const char *const programs[] = {"node", "nodejs", "deno", "bun"};
        char path[32], exe[256];
        if (question->data.nr != SYS_io_uring_setup)
                return false;
        snprintf(path, sizeof path, "/proc/%u/exe", question->pid);
        long n = sys_call4(SYS_readlinkat, AT_FDCWD, path, exe, sizeof exe - 1);
        if (n <= 0)
                return false;
        exe[n] = '\0';
        const char *slash = strrchr(exe, '/');
        for (size_t i = 0; i < ARRAY_LEN(programs); i++)
                if (slash && !strcmp(slash + 1, programs[i]))
                        return true;
        return false;
}

static bool owner_speaks(void)
{
        struct pollfd owner = {INIT_CONTROL_FD, POLLIN, 0};
        return sys_poll(&owner, 1, 0) > 0;
}

static void init_refused_report(const struct seccomp_data *call)
{
        const char *name = call_name(call);
        struct init_refused refused = {0};
        bool again = false;
        if (!name)
                return;
        for (unsigned i = 0; i < n_reported; i++)
                again |= reported[i] == name;
        /* The unread data of the owner may contain INIT_FORGET: code in a context can be faster than that
         * message. */
        if (again || n_reported == INIT_REFUSED_MAX) {
                if (ahead || !owner_speaks())
                        return;
                ahead = true;
                n_reported = 0;
        }
        reported[n_reported++] = name;
        snprintf(refused.target, sizeof refused.target, "%s", name);
        snprintf(refused.detail, sizeof refused.detail, "%s",
                 call->nr == SYS_clone ? "system call refused: new namespaces" : "system call refused");
        reply(INIT_REFUSED, 0, &refused, sizeof refused);
}

void refused_answer(void)
{
        union { /* a later kernel with a larger structure would use another ioctl number */
                struct seccomp_notif question;
                char room[256];
        } u = {0};
        long r;
        do {
                r = sys_call3(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &u.question);
        } while (r == -EINTR);
        if (r < 0 && r != -ENOENT) {
                /* The notification cannot be read, but no process may wait forever. Closing the descriptor
                 * makes them get ENOSYS. */
                sys_close(listener);
                listener = -1;
        }
        if (r < 0)
                return;
        if (!is_habit(&u.question))
                init_refused_report(&u.question.data);
        struct seccomp_notif_resp answer = {.id = u.question.id, .error = -seccomp_errno(&u.question.data)};
        sys_call3(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

void refused_drain(void)
{
        for (int i = 0; i < DRAIN_MAX && listener >= 0; i++) {
                struct pollfd waiting = {listener, POLLIN, 0};
                if (sys_poll(&waiting, 1, 0) <= 0)
                        return;
                refused_answer();
        }
}
