/* egress/control.c -- see control.h. */
#include "egress/control.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/auto.h"
#include "egress/cache.h"
#include "egress/loop.h"
#include "egress/sandbox.h"
#include "egress/servers.h"
#include "sys/file.h"
#include "sys/socket.h"
#include "wire/egress.h"

#define REQUESTS_MAX 16u /* per call */
#define WAITING_MAX 1024u
#define KEPT_FREE 64u /* reserved for replies to requests */
#define FDS_MAX 4u

/* Large enough for a policy, and aligned for all messages. */
static union {
        uint32_t type;
        struct egress_about about;
        struct egress_config config;
        struct egress_attach attach;
        char bytes[sizeof(struct egress_attach) + EGRESS_TEXT_MAX + 2 * EGRESS_CONFIG_MAX];
} request;

struct received {
        size_t length;
        int fds[FDS_MAX];
        unsigned n_fds;
        bool lost_fds; /* too many descriptors are open */
};

union reply {
        struct egress_about about;
        struct egress_counted counted;
        struct egress_refused refused;
};

static struct {
        struct source source;
        union reply waiting[WAITING_MAX]; /* while the owner does not read; untouched pages use no memory */
        uint16_t lengths[WAITING_MAX];
        unsigned first, n;
} control;

/* ---- sending ---- */

static void egress_control_keep(const void *message, size_t length)
{
        unsigned at = (control.first + control.n) % WAITING_MAX;

        memcpy(&control.waiting[at], message, length);
        control.lengths[at] = (uint16_t)length;
        if (control.n++ == 0) /* and accept no request until everything is sent */
                loop_change(&control.source, EPOLLOUT);
}

static void egress_control_say(const void *message, size_t length, unsigned kept_free)
{
        if (control.n == 0) {
                long n = sys_send(control.source.fd, message, length, 0);

                if (n != -EAGAIN)
                        return; /* sent, or the owner is gone, which is detected elsewhere */
        }
        if (control.n + kept_free < WAITING_MAX)
                egress_control_keep(message, length);
}

void control_report(const void *message, size_t length)
{
        egress_control_say(message, length, KEPT_FREE);
}

static void say_waiting(void)
{
        while (control.n > 0) {
                if (sys_send(control.source.fd, &control.waiting[control.first],
                             control.lengths[control.first], 0) == -EAGAIN)
                        return;
                control.first = (control.first + 1) % WAITING_MAX;
                control.n--;
        }
        loop_change(&control.source, EPOLLIN);
}

static void say_failed(uint64_t sandbox, int r)
{
        const struct egress_about about = {.type = EGRESS_FAILED, .number = (uint32_t)-r, .sandbox = sandbox};

        egress_control_say(&about, sizeof(about), 0);
}

/* ---- requests: each function returns 0, or -EPROTO for an invalid message ---- */

static int take_config(size_t length)
{
        const struct egress_config *c = &request.config;
        const char *texts = request.bytes + sizeof(*c);

        if (length < sizeof(*c) || c->resolv_length > EGRESS_CONFIG_MAX ||
            c->hosts_length > EGRESS_CONFIG_MAX || length != sizeof(*c) + c->resolv_length + c->hosts_length)
                return -EPROTO;
        servers_set(texts, c->resolv_length, texts + c->resolv_length, c->hosts_length);
        cache_clear();
        return 0;
}

/* Checks that there are as many NUL-terminated texts as announced. */
static int check_attach(size_t length)
{
        const struct egress_attach *a = &request.attach;
        const uint32_t counts[] = {a->n_allowed[0], a->n_allowed[1], a->n_blocked, a->n_private};
        uint64_t announced = 0, found = 0;

        if (length < sizeof(*a) || length > sizeof(*a) + EGRESS_TEXT_MAX)
                return -EPROTO;
        for (size_t i = 0; i < ARRAY_LEN(counts); i++)
                if (counts[i] != EGRESS_ANY)
                        announced += counts[i];
        for (size_t i = sizeof(*a); i < length; i++)
                found += request.bytes[i] == '\0';
        if (announced != found || (length > sizeof(*a) && request.bytes[length - 1] != '\0'))
                return -EPROTO;
        return 0;
}

static int egress_control_attach(struct received *got)
{
        struct policy *policy;
        uint64_t id = request.attach.sandbox;
        int r = check_attach(got->length);

        if (r < 0)
                return r;
        if (got->lost_fds || got->n_fds != 2) {
                say_failed(id, got->lost_fds ? -EMFILE : -EINVAL);
                return 0;
        }
        r = policy_get(&request.attach, got->length, &policy);
        if (r == 0) {
                r = egress_sandbox_attach(id, policy, got->fds[0], got->fds[1]);
                got->n_fds = 0;
        }
        if (r == -EEXIST) /* ids are never reused: neither may keep the other's access */
                egress_sandbox_detach(egress_sandbox_find(id));
        if (r < 0)
                say_failed(id, r);
        return 0;
}

static int egress_control_change(const struct received *got)
{
        struct egress_sandbox *s = NULL;
        struct policy *policy;
        int r = check_attach(got->length);

        if (r < 0 || got->n_fds > 0)
                return -EPROTO;
        s = egress_sandbox_find(request.attach.sandbox);
        if (s == NULL)
                return 0;
        r = policy_get(&request.attach, got->length, &policy);
        if (r == 0) {
                egress_sandbox_change(s, policy);
        } else { /* the old policy is no longer valid */
                egress_sandbox_detach(s);
                say_failed(request.attach.sandbox, r);
        }
        return 0;
}

static void egress_control_count(struct egress_sandbox *s)
{
        struct egress_counted counted = {0};

        if (s != NULL) {
                egress_sandbox_settle(s);
                counted = s->counted;
        }
        counted.type = EGRESS_COUNTED;
        counted.number = request.about.number;
        counted.sandbox = request.about.sandbox;
        egress_control_say(&counted, sizeof(counted), 0);
}

static int egress_control_handle(struct received *got)
{
        struct egress_sandbox *s;

        if (got->length < sizeof(request.type))
                return -EPROTO;
        if (request.type == EGRESS_ATTACH)
                return egress_control_attach(got);
        if (request.type == EGRESS_CHANGE)
                return egress_control_change(got);
        if (got->n_fds > 0 || got->lost_fds)
                return -EPROTO;
        if (request.type == EGRESS_CONFIG)
                return take_config(got->length);
        if (got->length != sizeof(request.about))
                return -EPROTO;
        s = egress_sandbox_find(request.about.sandbox);
        switch (request.type) {
        case EGRESS_BEGIN:
                if (s != NULL)
                        egress_sandbox_begin(s);
                return 0;
        case EGRESS_COUNT:
                egress_control_count(s);
                return 0;
        case EGRESS_DETACH:
                if (s != NULL)
                        egress_sandbox_detach(s);
                return 0;
        default:
                return -EPROTO;
        }
}

/* ---- receiving ---- */

static void take_fds(struct msghdr *message, struct received *got)
{
        for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
                size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                for (size_t i = 0; i < n && got->n_fds < FDS_MAX; i++)
                        memcpy(&got->fds[got->n_fds++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
        }
}

/* Returns 1: a request was received; 0: none now; -errno: the connection is over. */
static int egress_control_receive(struct received *got)
{
        char space[CMSG_SPACE(sizeof(int) * FDS_MAX)] __attribute__((aligned(8)));
        struct iovec part = {request.bytes, sizeof(request.bytes)};
        struct msghdr message = {
                .msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = space,
                .msg_controllen = sizeof(space),
        };
        long n = sys_recvmsg(control.source.fd, &message, 0);

        *got = (struct received){0};
        if (n == -EAGAIN)
                return 0;
        if (n <= 0)
                return n < 0 ? (int)n : -EPIPE;
        take_fds(&message, got);
        got->length = (size_t)n;
        got->lost_fds = (message.msg_flags & MSG_CTRUNC) != 0;
        return message.msg_flags & MSG_TRUNC ? -EPROTO : 1;
}

static void on_control(struct source *source, uint32_t events)
{
        int r = 1;

        (void)source;
        if (events & EPOLLOUT)
                say_waiting();
        if (events & (EPOLLERR | EPOLLHUP) && !(events & EPOLLIN))
                r = -EPIPE;
        for (unsigned i = 0; i < REQUESTS_MAX && r > 0 && control.n == 0; i++) {
                struct received got;

                r = egress_control_receive(&got);
                if (r > 0 && egress_control_handle(&got) < 0)
                        r = -EPROTO;
                while (got.n_fds > 0)
                        sys_close(got.fds[--got.n_fds]);
        }
        if (r < 0)
                loop_stop(r == -EPIPE || r == -ECONNRESET ? 0 : 1);
}

int control_init(int fd)
{
        control.source = (struct source){-1, on_control};
        return loop_add(&control.source, fd, EPOLLIN);
}
