/* init/refused.c -- answers who made a system call that is refused and that matters.
 *
 * The kernel holds such a process and asks us (a notification of seccomp).  We say the errno that it would
 * have got at once from a filter without questions, never anything else: no call goes through here.  And we
 * tell our owner, once for each name, who makes it a violation in the result.
 *
 * What must stay true:
 *  - no process of ours makes such a call, or it waits for itself: neither we nor a supervisor nor a helper
 *    has any use for one;
 *  - we never wait here.  Who asked may be killed or get a signal meanwhile: then nobody is there any more
 *    (-ENOENT), when we take the question or when we answer it.  After a signal the kernel starts the call
 *    again and asks again, unless the handler is one of those that want EINTR;
 *  - a flood costs only who makes it: each of its processes waits for a turn of ours, on CPU time of the
 *    sandbox, and between any two of them our owner and the dead have theirs. */
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

#define DRAIN_MAX 128 /* more processes than that ask at once in floods only */

static int listener = -1;

/* Names have one address each. */
static const char *told[INIT_REFUSED_MAX];
static unsigned n_told;

void refused_listen(int fd)
{
        listener = fd;
}

int refused_fd(void)
{
        return listener;
}

static bool ahead; /* of what the owner has said: it was forgotten already */

void refused_forget(void)
{
        if (!ahead)
                n_told = 0;
}

void refused_heard(void)
{
        ahead = false;
}

/* The families have names of their own, as far as they are known for something; the rest share one, or there
 * would be room for no other name. */
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

/* These try io_uring each time they start and go on without; it is not the code that did.  A program that
 * takes such a name gains nothing but that nobody is told. */
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

static void tell(const struct seccomp_data *call)
{
        const char *name = call_name(call);
        struct init_refused refused = {0};
        bool again = false;
        if (!name)
                return;
        for (unsigned i = 0; i < n_told; i++)
                again |= told[i] == name;
        /* What the owner has said and we have not read yet may be INIT_FORGET: code in a context can be
         * faster than that. */
        if (again || n_told == INIT_REFUSED_MAX) {
                if (ahead || !owner_speaks())
                        return;
                ahead = true;
                n_told = 0;
        }
        told[n_told++] = name;
        snprintf(refused.target, sizeof refused.target, "%s", name);
        snprintf(refused.detail, sizeof refused.detail, "%s",
                 call->nr == SYS_clone ? "system call refused: new namespaces" : "system call refused");
        reply(INIT_REFUSED, 0, &refused, sizeof refused);
}

void refused_answer(void)
{
        union { /* a later kernel that writes more would have another number for the request */
                struct seccomp_notif question;
                char room[256];
        } u = {0};
        long r;
        do {
                r = sys_call3(SYS_ioctl, listener, SECCOMP_IOCTL_NOTIF_RECV, &u.question);
        } while (r == -EINTR);
        if (r < 0 && r != -ENOENT) {
                /* Not to be understood; but nobody may wait for us.  They get ENOSYS now. */
                sys_close(listener);
                listener = -1;
        }
        if (r < 0)
                return;
        if (!is_habit(&u.question))
                tell(&u.question.data);
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
