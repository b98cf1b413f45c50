#include "engine/link/keeper_link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/rights.h"

/* A queued packet. */
struct parcel {
        struct parcel *next;
        size_t len;
        char data[];
};

/* An expected answer. */
struct due {
        struct due *next;
        uint32_t number;
        keeper_answer answer;
        void *context;
};

struct keeper_link {
        int fd;
        uv_poll_t poll;
        const struct keeper_link_events *events;
        void *userdata;
        uint32_t number;
        struct parcel *first, **last;
        struct due *due, **due_last; /* answers are almost always in order, so the first one matches */
        unsigned n_due;
        bool lost;
        union keeper_packet packet; /* the packet that is being read */
        int fds[SYS_RIGHTS_MAX];    /* and its descriptors */
        unsigned n_fds;
};

static void keeper_link_on_poll(uv_poll_t *poll, int status, int events);

static void keeper_link_lose(struct keeper_link *link, const char *why)
{
        if (link->lost)
                return;
        link->lost = true;
        uv_poll_stop(&link->poll);
        link->events->on_lost(link->userdata, why);
}

static void keeper_link_watch(struct keeper_link *link)
{
        if (!link->lost)
                uv_poll_start(&link->poll, UV_READABLE | (link->first ? UV_WRITABLE : 0),
                              keeper_link_on_poll);
}

static int send_now(struct keeper_link *link, const void *data, size_t len)
{
        ssize_t n;
        do {
                n = send(link->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        } while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : 0;
}

static void send_waiting(struct keeper_link *link)
{
        while (link->first) {
                struct parcel *p = link->first;
                int r = send_now(link, p->data, p->len);
                if (r == -EAGAIN)
                        return;
                if (r < 0) {
                        keeper_link_lose(link, "cannot write to the keeper");
                        return;
                }
                link->first = p->next;
                if (!link->first)
                        link->last = &link->first;
                free(p);
        }
        keeper_link_watch(link);
}

static int keeper_link_post(struct keeper_link *link, const void *data, size_t len)
{
        if (link->lost)
                return 0; /* the loop is about to end: no answer is needed */
        int r = link->first ? -EAGAIN : send_now(link, data, len);
        if (r != -EAGAIN) {
                if (r < 0) /* on_lost() is not called inside of a request, but by the loop */
                        shutdown(link->fd, SHUT_RDWR);
                return 0;
        }
        struct parcel *p = malloc(sizeof *p + len);
        if (!p)
                return -ENOMEM;
        p->next = NULL;
        p->len = len;
        memcpy(p->data, data, len);
        *link->last = p;
        link->last = &p->next;
        keeper_link_watch(link);
        return 0;
}

static struct due *expect(struct keeper_link *link, keeper_answer answer, void *context)
{
        struct due *d = calloc(1, sizeof *d);
        if (!d)
                return NULL;
        *d = (struct due){.number = link->number, .answer = answer, .context = context};
        *link->due_last = d;
        link->due_last = &d->next;
        link->n_due++;
        return d;
}

static struct due *take_due(struct keeper_link *link, uint32_t number)
{
        for (struct due **at = &link->due; *at; at = &(*at)->next) {
                struct due *d = *at;
                if (d->number != number)
                        continue;
                *at = d->next;
                if (!*at)
                        link->due_last = at;
                link->n_due--;
                return d;
        }
        return NULL;
}

static int request(struct keeper_link *link, void *data, size_t len, keeper_answer answer, void *context)
{
        struct keeper_about *head = data;
        if (++link->number == 0) /* 0 means: not an answer */
                link->number = 1;
        head->number = link->number;
        if (answer && !expect(link, answer, context))
                return -ENOMEM;
        int r = keeper_link_post(link, data, len);
        if (r < 0)
                free(answer ? take_due(link, link->number) : NULL);
        return r;
}

int keeper_link_make(struct keeper_link *link, struct keeper_make *make, keeper_answer answer, void *context)
{
        make->type = KEEPER_MAKE;
        return request(link, make, sizeof *make + make->mounts_len, answer, context);
}

int keeper_link_ask(struct keeper_link *link, enum keeper_request type, uint32_t sandbox,
                    keeper_answer answer, void *context)
{
        struct keeper_about about = {.type = type, .sandbox = sandbox};
        if (!link)
                return -EPIPE;
        if (sandbox == 0 && type != KEEPER_READY && type != KEEPER_IMAGER_WANTED &&
            type != KEEPER_DOCKER_WANTED && type != KEEPER_PING)
                return -ESRCH; /* the keeper treats an unknown sandbox as a fatal error */
        return request(link, &about, sizeof about, answer, context);
}

int keeper_link_send(struct keeper_link *link, void *packet, size_t len, keeper_answer answer, void *context)
{
        return request(link, packet, len, answer, context);
}

int keeper_link_drop(struct keeper_link *link, const char *name)
{
        struct keeper_drop drop = {.type = KEEPER_DROP};
        memcpy(drop.name, name, strnlen(name, sizeof drop.name - 1));
        return request(link, &drop, sizeof drop, NULL, NULL);
}

unsigned keeper_link_pending(const struct keeper_link *link)
{
        return link->n_due;
}

void keeper_link_fail_pending(struct keeper_link *link, const struct cella_err *err)
{
        union keeper_packet packet = {.failed = {.type = KEEPER_FAILED, .err = *err}};
        while (link->due) {
                struct due *d = take_due(link, link->due->number);
                packet.number = d->number;
                if (d->answer)
                        d->answer(d->context, &packet, -1);
                free(d);
        }
}

void keeper_link_forget(struct keeper_link *link, const void *context)
{
        for (struct due *d = link->due; d; d = d->next)
                if (d->context == context)
                        d->answer = NULL;
}

static size_t size_of(const union keeper_packet *packet)
{
        switch (packet->type) {
        case KEEPER_MADE:
                return sizeof packet->made;
        case KEEPER_FAILED:
                return sizeof packet->failed;
        case KEEPER_COUNTED:
                return sizeof packet->counted;
        case DOCKER_OPENED:
                return sizeof packet->opened;
        case DOCKER_MADE:
                return packet->docker.len > DOCKER_IMAGE_MAX ? 0 : sizeof packet->docker + packet->docker.len;
        default:
                return sizeof packet->about;
        }
}

static void close_rest(struct keeper_link *link, unsigned from)
{
        while (link->n_fds > from)
                if (link->fds[--link->n_fds] >= 0)
                        close(link->fds[link->n_fds]);
}

/* Receives one packet.  The size is checked because the keeper may die while it sends. */
static int keeper_link_receive(struct keeper_link *link)
{
        union keeper_packet *ret = &link->packet;
        union sys_rights rights;
        struct iovec part = {ret, sizeof *ret};
        struct msghdr msg = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = rights.space,
                             .msg_controllen = sizeof rights.space};
        ssize_t n;
        do {
                n = recvmsg(link->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        } while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        link->n_fds = 0;
        sys_rights_take(&msg, link->fds, &link->n_fds, SYS_RIGHTS_MAX);
        if (n == 0)
                return -EPIPE;
        memset((char *)ret + n, 0, (size_t)n < sizeof ret->docker ? sizeof ret->docker - (size_t)n : 0);
        if (n >= 8 && (size_t)n == size_of(ret))
                return 0;
        close_rest(link, 0);
        return -EPROTO;
}

void keeper_link_take_counters(struct keeper_link *link, struct counters *ret)
{
        const struct keeper_made *made = &link->packet.made;
        const bool came = made->type == KEEPER_MADE;
        unsigned next = 1;
        *ret = (struct counters){0};
        if (came) {
                ret->v2 = made->counters_v2;
                ret->cpu_us_before = made->cpu_us_before;
        }
        for (int i = 0; i < N_COUNTERS; i++) {
                ret->fd[i] = -1;
                if (came && (made->counters >> i & 1) && next < link->n_fds) {
                        ret->fd[i] = TAKE_FD(link->fds[next]);
                        next++;
                }
        }
}

/* The callee owns the first descriptor, and takes others with keeper_link_take_counters(). */
static void keeper_link_deliver(struct keeper_link *link)
{
        const union keeper_packet *packet = &link->packet;
        struct due *d = packet->number == 0 ? NULL : take_due(link, packet->number);
        const int fd = link->n_fds > 0 ? link->fds[0] : -1;
        if (packet->number == 0)
                link->events->on_event(link->userdata, packet, fd);
        else if (d && d->answer)
                d->answer(d->context, packet, fd);
        else if (fd >= 0)
                close(fd);
        free(d);
        close_rest(link, 1);
}

static void keeper_link_on_poll(uv_poll_t *poll, int status, int events)
{
        struct keeper_link *link = poll->data;
        int r = 0;
        if (status >= 0 && (events & UV_WRITABLE))
                send_waiting(link);
        while (!link->lost && (r = keeper_link_receive(link)) == 0)
                keeper_link_deliver(link);
        if (!link->lost && r != -EAGAIN)
                keeper_link_lose(link, r == -EPIPE || r == -ECONNRESET ? "the keeper has exited"
                                                                       : "the keeper broke the protocol");
}

int keeper_link_new(uv_loop_t *loop, int fd, const struct keeper_link_events *events, void *userdata,
                    struct keeper_link **ret, struct cella_err *err)
{
        struct keeper_link *link = calloc(1, sizeof *link);
        if (!link) {
                close(fd);
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "keeper");
        }
        link->fd = fd;
        link->events = events;
        link->userdata = userdata;
        link->last = &link->first;
        link->due_last = &link->due;
        link->poll.data = link;
        int r = uv_poll_init(loop, &link->poll, fd);
        if (r < 0) {
                free(link);
                close(fd);
                return err_set(err, CELLA_INTERNAL, r, "cannot watch the keeper's socket");
        }
        keeper_link_watch(link);
        *ret = link;
        return 0;
}

static void keeper_link_on_closed(uv_handle_t *handle)
{
        struct keeper_link *link = handle->data;
        close(link->fd);
        free(link);
}

struct keeper_link *keeper_link_free(struct keeper_link *link)
{
        if (!link)
                return NULL;
        while (link->first) {
                struct parcel *p = link->first;
                link->first = p->next;
                free(p);
        }
        while (link->due) {
                struct due *d = link->due;
                link->due = d->next;
                free(d);
        }
        link->lost = true;
        uv_close((uv_handle_t *)&link->poll, keeper_link_on_closed);
        return NULL;
}
