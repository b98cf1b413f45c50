#include "engine/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/rights.h"

#define FRAMES_AT_ONCE 64 /* then it is others' turn */

/* A frame that waits for room in the socket. */
struct parcel {
        struct parcel *next;
        int fds[MESSAGE_FDS_MAX]; /* to go with the first byte */
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
        uv_poll_t poll;
        struct message_reader reader;
        struct parcel *first, **last;
        size_t waiting;
        struct listener *listeners;
        uint32_t tag;
        channel_handler on_zero;
        channel_closed closed;
        void *context;
        bool over; /* closed, or being freed */
        char data[INIT_REPLY_MAX];
};

static void on_poll(uv_poll_t *poll, int status, int events);

static void watch(struct channel *c)
{
        if (!c->over)
                uv_poll_start(&c->poll, UV_READABLE | (c->first ? UV_WRITABLE : 0), on_poll);
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

/* Returns why the rest still waits.  A peer that is gone shows when we read. */
static int send_waiting(struct channel *c)
{
        while (c->first) {
                struct parcel *p = c->first;
                long n = sys_rights_send(c->fd, p->data + p->at, p->len - p->at, p->fds, p->n_fds,
                                         MSG_DONTWAIT);
                if (n < 0 && n != -EPIPE && n != -ECONNRESET)
                        return (int)n;
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

static struct parcel *wrap(enum init_request type, uint32_t tag, const int *fds, unsigned n_fds,
                           const void *data, size_t len, const void *more, size_t more_len)
{
        const uint32_t header[3] = {type, tag, (uint32_t)(len + more_len)};
        struct parcel *p = malloc(sizeof *p + sizeof header + len + more_len);
        if (!p)
                return NULL;
        *p = (struct parcel){.n_fds = n_fds, .len = sizeof header + len + more_len};
        if (n_fds > 0)
                memcpy(p->fds, fds, sizeof(int) * n_fds);
        memcpy(p->data, header, sizeof header);
        if (len > 0)
                memcpy(p->data + sizeof header, data, len);
        if (more_len > 0)
                memcpy(p->data + sizeof header + len, more, more_len);
        return p;
}

int channel_send(struct channel *c, enum init_request type, uint32_t tag, const int *fds, unsigned n_fds,
                 const void *data, size_t len, const void *more, size_t more_len)
{
        int r = c->over ? -EPIPE : c->waiting + len + more_len > CHANNEL_WAITING_MAX ? -ENOBUFS : 0;
        struct parcel *p = r == 0 ? wrap(type, tag, fds, n_fds, data, len, more, more_len) : NULL;
        if (!p) {
                for (unsigned i = 0; i < n_fds; i++)
                        close(fds[i]);
                return r < 0 ? r : -ENOMEM;
        }
        *c->last = p;
        c->last = &p->next;
        c->waiting += p->len;
        /* The kernel has no room, or too many of our descriptors are on their way: not here, and so nothing
         * here would tell when there are fewer. */
        if (c->first == p && (r = send_waiting(c)) < 0 && r != -EAGAIN && p->at == 0) {
                drop_first(c);
                return -ENOBUFS;
        }
        if (c->first)
                watch(c);
        return 0;
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

static void deliver(struct channel *c, struct message *m)
{
        if (m->tag == 0) {
                c->on_zero(c->context, m, c->data);
                return;
        }
        for (struct listener *l = c->listeners; l; l = l->next)
                if (l->tag == m->tag) {
                        l->handler(l->context, m, c->data);
                        return;
                }
        message_close_fds(m); /* an answer that nobody waits for any more */
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
        struct channel *c = poll->data;
        struct message m;
        int r = -EAGAIN;
        int sent = 0;
        if (status >= 0 && (events & UV_WRITABLE)) {
                sent = send_waiting(c);
                watch(c);
        }
        for (int i = 0; i < FRAMES_AT_ONCE && !c->over; i++) {
                if ((r = message_read(&c->reader, c->fd, &m)) <= 0)
                        break;
                deliver(c, &m);
        }
        if (c->over)
                return;
        if ((r > 0 || r == -EAGAIN) && (sent == 0 || sent == -EAGAIN)) {
                if (status < 0) /* an error makes libuv stop watching, and there may be more to read */
                        watch(c);
                return;
        }
        c->over = true;
        uv_poll_stop(&c->poll);
        c->closed(c->context);
}

int channel_new(uv_loop_t *loop, int fd, channel_handler on_zero, channel_closed closed, void *context,
                struct channel **ret, struct cella_err *err)
{
        struct channel *c = calloc(1, sizeof *c);
        int r = c ? uv_poll_init(loop, &c->poll, fd) : -ENOMEM;
        if (r < 0) {
                close(fd);
                free(c);
                return err_set(err, CELLA_INTERNAL, r, "cannot watch a sandbox");
        }
        c->fd = fd;
        c->poll.data = c;
        c->last = &c->first;
        c->on_zero = on_zero;
        c->closed = closed;
        c->context = context;
        message_reader_init(&c->reader, c->data, sizeof c->data);
        watch(c);
        *ret = c;
        return 0;
}

static void on_closed(uv_handle_t *handle)
{
        free(handle->data);
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
        message_reader_done(&c->reader);
        uv_poll_stop(&c->poll);
        close(c->fd);
        uv_close((uv_handle_t *)&c->poll, on_closed);
        return NULL;
}
