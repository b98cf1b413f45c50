#include "engine/link/egress_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/rights.h"

#define PACKETS_AT_ONCE 64              /* per event, to let other descriptors proceed */
#define WAITING_MAX (64u * 1024 * 1024) /* bytes */
#define FDS_MAX 2

/* A queued packet. */
struct parcel {
        struct parcel *next;
        int fds[FDS_MAX]; /* owned */
        unsigned n_fds;
        size_t len;
        char data[];
};

struct egress_link {
        int fd;
        uv_poll_t poll;
        const struct egress_link_events *events; /* NULL: it is being closed */
        void *userdata;
        struct parcel *first, **last;
        size_t waiting;
};

static void egress_link_on_poll(uv_poll_t *poll, int status, int events);

static void egress_link_watch(struct egress_link *link)
{
        uv_poll_start(&link->poll, UV_READABLE | (link->first ? UV_WRITABLE : 0), egress_link_on_poll);
}

static void parcel_free(struct parcel *p)
{
        for (unsigned i = 0; i < p->n_fds; i++)
                close(p->fds[i]);
        free(p);
}

static int send_now(const struct egress_link *link, const void *data, size_t len, const int *fds,
                    unsigned n_fds)
{
        long n = sys_rights_send(link->fd, data, len, fds, n_fds, MSG_DONTWAIT);
        return n < 0 ? (int)n : 0;
}

static int keep_for_later(struct egress_link *link, const void *data, size_t len, const int *fds,
                          unsigned n_fds)
{
        struct parcel *p = link->waiting + len > WAITING_MAX ? NULL : malloc(sizeof *p + len);
        if (!p)
                return -ENOBUFS;
        *p = (struct parcel){.len = len};
        memcpy(p->data, data, len);
        for (; p->n_fds < n_fds; p->n_fds++)
                if ((p->fds[p->n_fds] = fcntl(fds[p->n_fds], F_DUPFD_CLOEXEC, 0)) < 0) {
                        parcel_free(p);
                        return -EMFILE;
                }
        *link->last = p;
        link->last = &p->next;
        link->waiting += len;
        egress_link_watch(link);
        return 0;
}

int egress_link_send(struct egress_link *link, const void *data, size_t len, const int *fds, unsigned n_fds)
{
        int r = link->first ? -EAGAIN : send_now(link, data, len, fds, n_fds);
        /* -ETOOMANYREFS: too many descriptors of this user are in flight; handled like a full socket. */
        return r == -EAGAIN || r == -ETOOMANYREFS ? keep_for_later(link, data, len, fds, n_fds) : r;
}

size_t egress_link_waiting(const struct egress_link *link)
{
        return link->waiting;
}

/* Returns false if packets remain.  A lost connection is noticed when reading. */
static bool send_waiting(struct egress_link *link)
{
        while (link->first) {
                struct parcel *p = link->first;
                int r = send_now(link, p->data, p->len, p->fds, p->n_fds);
                if (r == -EAGAIN || r == -ETOOMANYREFS)
                        return false;
                link->first = p->next;
                if (!link->first)
                        link->last = &link->first;
                link->waiting -= p->len;
                parcel_free(p);
        }
        egress_link_watch(link);
        return true;
}

static int egress_link_receive(const struct egress_link *link, union egress_packet *ret)
{
        struct iovec part = {ret, sizeof *ret};
        struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1}; /* no room for descriptors */
        ssize_t n;
        do {
                n = recvmsg(link->fd, &msg, MSG_DONTWAIT);
        } while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        if (n < (ssize_t)sizeof ret->type || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
                return n == 0 ? -EPIPE : -EPROTO;
        size_t want = ret->type == EGRESS_COUNTED   ? sizeof ret->counted
                      : ret->type == EGRESS_REFUSED ? sizeof ret->refused
                      : ret->type == EGRESS_FAILED  ? sizeof ret->about
                                                    : 0;
        return (size_t)n == want ? 0 : -EPROTO;
}

static void egress_link_on_poll(uv_poll_t *poll, int status, int events)
{
        struct egress_link *link = poll->data;
        union egress_packet packet;
        int r = -EAGAIN;
        if (status >= 0 && (events & UV_WRITABLE) && send_waiting(link))
                link->events->on_room(link->userdata);
        for (int i = 0; i < PACKETS_AT_ONCE && link->events; i++) {
                if ((r = egress_link_receive(link, &packet)) < 0)
                        break;
                link->events->on_packet(link->userdata, &packet);
        }
        if (!link->events)
                return; /* egress_link_on_closed() frees it */
        if (r < 0 && r != -EAGAIN)
                link->events->on_lost(link->userdata);
        else if (status < 0) /* libuv has stopped polling, but there may be more to read */
                egress_link_watch(link);
}

int egress_link_new(uv_loop_t *loop, int fd, const struct egress_link_events *events, void *userdata,
                    struct egress_link **ret, struct cella_err *err)
{
        struct egress_link *link = calloc(1, sizeof *link);
        int r = link ? uv_poll_init(loop, &link->poll, fd) : -ENOMEM;
        if (r < 0) {
                close(fd);
                free(link);
                return err_set(err, CELLA_INTERNAL, r, "cannot watch the egress process");
        }
        link->fd = fd;
        link->poll.data = link;
        link->events = events;
        link->userdata = userdata;
        link->last = &link->first;
        egress_link_watch(link);
        *ret = link;
        return 0;
}

static void egress_link_on_closed(uv_handle_t *handle)
{
        free(handle->data);
}

struct egress_link *egress_link_free(struct egress_link *link)
{
        if (!link)
                return NULL;
        link->events = NULL;
        while (link->first) {
                struct parcel *p = link->first;
                link->first = p->next;
                parcel_free(p);
        }
        uv_poll_stop(&link->poll);
        close(link->fd);
        uv_close((uv_handle_t *)&link->poll, egress_link_on_closed);
        return NULL;
}
