#include "engine/link/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/list.h"
#include "sys/rights.h"

#define READS_AT_ONCE 64 /* per event, to let other descriptors proceed */

/* A queued frame. */
struct parcel {
        struct parcel *next;
        int fds[MESSAGE_FDS_MAX]; /* sent with the first byte */
        unsigned n_fds;
        size_t len, at;
        char data[];
};

struct listener {
        struct listener *next;
        uint32_t tag;
        channel_handler handler;
        void *context;
};

struct channel {
        int fd;
        uv_loop_t *loop;
        struct fd_poll poll;
        struct message_ahead reader;
        struct parcel *first, **last;
        size_t waiting;
        uint64_t n_sent; /* number of frames sent or queued */
        bool unread;     /* the peer has closed without reading the last frame */
        struct listener *listeners;
        uint32_t tag;
        channel_handler on_untagged_message;
        channel_closed closed;
        void *context;
        bool over;  /* closed, or being freed */
        bool busy;  /* a callback is running */
        bool freed; /* free the channel after the callback */
        char data[MESSAGE_AHEAD_BYTES(INIT_REPLY_MAX)];
};

static void channel_on_event(struct fd_poll *poll, int events);

static int update_poll(struct channel *c)
{
        const int events = c->first ? UV_READABLE | UV_WRITABLE : UV_READABLE;
        return c->over ? 0 : fd_poll_start(&c->poll, c->loop, c->fd, events, channel_on_event);
}

static void parcel_free(struct parcel *p)
{
        for (unsigned i = 0; i < p->n_fds; i++)
                close(p->fds[i]);
        free(p);
}

static void drop_first(struct channel *c)
{
        struct parcel *p = c->first;
        c->first = p->next;
        if (!c->first)
                c->last = &c->first;
        c->waiting -= p->len;
        parcel_free(p);
}

/* Returns 0, or -errno if frames remain.  A closed peer is noticed when reading. */
static int send_waiting(struct channel *c)
{
        while (c->first) {
                struct parcel *p = c->first;
                long n = sys_rights_send(c->fd, p->data + p->at, p->len - p->at, p->fds, p->n_fds,
                                         MSG_DONTWAIT);
                if (n < 0 && n != -EPIPE && n != -ECONNRESET)
                        return (int)n;
                c->unread |= n < 0;
                if (n > 0) {
                        while (p->n_fds > 0)
                                close(p->fds[--p->n_fds]);
                        p->at += (size_t)n;
                        if (p->at < p->len)
                                continue;
                }
                drop_first(c);
        }
        return 0;
}

/* Copies a frame and duplicates its descriptors: the sender keeps its own. */
static struct parcel *channel_wrap(const struct iovec parts[3], size_t whole, size_t sent, const int *fds,
                                   unsigned n_fds)
{
        struct parcel *p = malloc(sizeof *p + whole);
        if (!p)
                return NULL;
        *p = (struct parcel){.len = whole, .at = sent};
        char *to = p->data;
        for (int i = 0; i < 3; i++)
                if (parts[i].iov_len > 0)
                        to = mempcpy(to, parts[i].iov_base, parts[i].iov_len);
        for (; p->n_fds < n_fds; p->n_fds++)
                if ((p->fds[p->n_fds] = fcntl(fds[p->n_fds], F_DUPFD_CLOEXEC, 0)) < 0) {
                        parcel_free(p);
                        return NULL;
                }
        return p;
}

/* Returns the number of bytes sent, or -errno.  A closed peer is noticed when reading. */
static long send_now(struct channel *c, const struct iovec parts[3], size_t whole, const int *fds,
                     unsigned n_fds)
{
        union sys_rights rights;
        struct msghdr msg = {.msg_iov = (struct iovec *)parts, .msg_iovlen = 3};
        if (c->first)
                return -EAGAIN;
        sys_rights_put(&msg, &rights, fds, n_fds);
        long n = sys_rights_send_msg(c->fd, &msg, MSG_DONTWAIT);
        if (n != -EPIPE && n != -ECONNRESET)
                return n;
        c->unread = true;
        return (long)whole;
}

int channel_lend(struct channel *c, enum init_request type, uint32_t tag, const int *fds, unsigned n_fds,
                 const void *data, size_t len, const void *more, size_t more_len)
{
        const uint32_t header[3] = {type, tag, (uint32_t)(len + more_len)};
        const struct iovec parts[3] = {
                {(void *)header, sizeof header}, {(void *)data, len}, {(void *)more, more_len}};
        const size_t whole = sizeof header + len + more_len;
        if (c->over)
                return -EPIPE;
        if (n_fds > MESSAGE_FDS_MAX)
                return -EINVAL;
        if (c->waiting + len + more_len > CHANNEL_WAITING_MAX)
                return -ENOBUFS;
        c->n_sent++;
        long n = send_now(c, parts, whole, fds, n_fds);
        if (n == (long)whole)
                return 0;
        /* No kernel memory, or too many descriptors of this user are in flight.  No event would report that
         * this has changed. */
        if (n < 0 && n != -EAGAIN)
                return -ENOBUFS;
        struct parcel *p = channel_wrap(parts, whole, n > 0 ? (size_t)n : 0, fds, n > 0 ? 0 : n_fds);
        if (!p) {
                if (n > 0) /* a partial frame cannot be continued: reading then finds the end */
                        shutdown(c->fd, SHUT_RDWR);
                return -ENOMEM;
        }
        *c->last = p;
        c->last = &p->next;
        c->waiting += p->len;
        update_poll(c);
        return 0;
}

int channel_send(struct channel *c, enum init_request type, uint32_t tag, const int *fds, unsigned n_fds,
                 const void *data, size_t len, const void *more, size_t more_len)
{
        int r = channel_lend(c, type, tag, fds, n_fds, data, len, more, more_len);
        for (unsigned i = 0; i < n_fds; i++)
                close(fds[i]);
        return r;
}

uint64_t channel_sent(const struct channel *c)
{
        return c->n_sent;
}

bool channel_unread(const struct channel *c, uint64_t number)
{
        return c->n_sent == number && c->over && (c->unread || c->first);
}

uint32_t channel_open_tag(struct channel *c, channel_handler handler, void *context)
{
        struct listener *l = calloc(1, sizeof *l);
        if (!l)
                return 0;
        if (++c->tag == 0)
                c->tag = 1;
        *l = (struct listener){.next = c->listeners, .tag = c->tag, .handler = handler, .context = context};
        c->listeners = l;
        return l->tag;
}

void channel_hand_over(struct channel *c, uint32_t tag, channel_handler handler, void *context)
{
        for (struct listener *l = c->listeners; l; l = l->next)
                if (l->tag == tag) {
                        l->handler = handler;
                        l->context = context;
                }
}

void channel_forget(struct channel *c, uint32_t tag)
{
        for (struct listener **at = &c->listeners; *at; at = &(*at)->next)
                if ((*at)->tag == tag) {
                        struct listener *l = *at;
                        *at = l->next;
                        free(l);
                        return;
                }
}

static void channel_deliver(struct channel *c, struct message *m, const char *data)
{
        if (m->tag == 0) {
                c->on_untagged_message(c->context, m, data);
                return;
        }
        for (struct listener *l = c->listeners; l; l = l->next)
                if (l->tag == m->tag) {
                        l->handler(l->context, m, data);
                        return;
                }
        message_close_fds(m); /* the listener is gone */
}

/* Delivers all frames that were read: no event would report them again.  Returns 0 or -EPROTO. */
static int deliver_all(struct channel *c)
{
        struct message m;
        const char *data;
        int r = 0;
        while (!c->over && (r = message_ahead_next(&c->reader, &m, &data)) > 0)
                channel_deliver(c, &m, data);
        return r;
}

/* Returns 1 if there may be more, -EAGAIN if not, 0 or -errno at the end of the connection. */
static int read_some(struct channel *c)
{
        int r = 1;
        for (int i = 0; i < READS_AT_ONCE && r > 0 && !c->over; i++) {
                r = message_ahead_read(&c->reader, c->fd);
                if (r > 0) {
                        const int sense = deliver_all(c);
                        r = sense < 0 ? sense : message_ahead_drained(&c->reader) ? -EAGAIN : 1;
                }
        }
        return r;
}

static void channel_receive(struct channel *c, int events)
{
        int sent = 0;
        if (events & UV_WRITABLE) {
                sent = send_waiting(c);
                update_poll(c);
        }
        const int r = read_some(c);
        if (c->over || ((r > 0 || r == -EAGAIN) && (sent == 0 || sent == -EAGAIN)))
                return;
        c->over = true;
        c->unread |= r == -ECONNRESET; /* the kernel reports this only if it dropped bytes that we sent */
        fd_poll_stop(&c->poll);
        c->closed(c->context);
}

static void channel_on_event(struct fd_poll *poll, int events)
{
        struct channel *c = list_entry(poll, struct channel, poll);
        c->busy = true;
        channel_receive(c, events);
        c->busy = false;
        if (c->freed)
                free(c);
}

int channel_new(uv_loop_t *loop, int fd, channel_handler on_untagged_message, channel_closed closed,
                void *context, struct channel **ret, struct cella_err *err)
{
        struct channel *c = calloc(1, sizeof *c);
        int r = -ENOMEM;
        if (c) {
                c->fd = fd;
                c->loop = loop;
                c->last = &c->first;
                c->on_untagged_message = on_untagged_message;
                c->closed = closed;
                c->context = context;
                message_ahead_init(&c->reader, c->data, sizeof c->data);
                r = update_poll(c);
        }
        if (r < 0) {
                close(fd);
                free(c);
                return err_set(err, CELLA_INTERNAL, r, "cannot watch a sandbox");
        }
        *ret = c;
        return 0;
}

struct channel *channel_free(struct channel *c)
{
        if (!c)
                return NULL;
        c->over = true;
        while (c->first) {
                struct parcel *p = c->first;
                c->first = p->next;
                parcel_free(p);
        }
        while (c->listeners)
                channel_forget(c, c->listeners->tag);
        message_ahead_done(&c->reader);
        fd_poll_close(&c->poll, c->fd);
        c->freed = c->busy;
        if (!c->freed)
                free(c);
        return NULL;
}
