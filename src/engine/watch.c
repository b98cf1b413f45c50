/* engine/watch.c -- an epoll behind one handle of libuv.
 *
 * What the kernel has told is looked at one by one, and a callback may end what comes behind it, or have its
 * number used again.  So an event names a number and which start of its watching it was for: they are
 * counted, and one that is not that of the number now is dropped.  Nothing is lost by it: what holds is told
 * again. */
#include "engine/watch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "sys/file.h"
#include "sys/socket.h"

#define EVENTS_AT_ONCE 128 /* then it is others' turn */

struct place {
        struct watched *watched; /* NULL: the number is not watched */
        uint32_t start;          /* which one it was */
};

struct watch {
        uv_poll_t poll;
        int epoll;
        uint32_t starts;
        struct place *places; /* by the number of a descriptor */
        size_t n_places;
};

static uint64_t name(int fd, uint32_t start)
{
        return (uint64_t)start << 32 | (uint32_t)fd;
}

static struct watched *find(const struct watch *w, uint64_t named)
{
        const size_t fd = (uint32_t)named;
        if (fd >= w->n_places || w->places[fd].start != named >> 32)
                return NULL;
        return w->places[fd].watched;
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
        struct watch *w = poll->data;
        struct epoll_event came[EVENTS_AT_ONCE];
        (void)status;
        (void)events;
        const int n = sys_epoll_wait(w->epoll, came, EVENTS_AT_ONCE, 0);
        for (int i = 0; i < n; i++) {
                struct watched *watched = find(w, came[i].data.u64);
                /* It may want less than when this was told. */
                const uint32_t wanted =
                        watched ? came[i].events & (watched->events | EPOLLERR | EPOLLHUP) : 0;
                if (wanted)
                        watched->callback(watched, wanted);
        }
}

int watch_new(uv_loop_t *loop, struct watch **ret, struct cella_err *err)
{
        struct watch *w = calloc(1, sizeof *w);
        int r = w ? w->epoll = sys_epoll_create() : -ENOMEM;
        if (r >= 0 && (r = uv_poll_init(loop, &w->poll, w->epoll)) < 0)
                sys_close(w->epoll);
        if (r < 0) {
                free(w);
                return err_set(err, CELLA_INTERNAL, r, "cannot watch descriptors");
        }
        w->poll.data = w;
        uv_poll_start(&w->poll, UV_READABLE, on_poll);
        *ret = w;
        return 0;
}

static void on_closed(uv_handle_t *handle)
{
        free(handle->data);
}

struct watch *watch_free(struct watch *w)
{
        if (!w)
                return NULL;
        for (size_t i = 0; i < w->n_places; i++)
                if (w->places[i].watched)
                        w->places[i].watched->watch = NULL;
        free(w->places);
        w->places = NULL;
        w->n_places = 0; /* a callback may have done this, and more have been told */
        uv_poll_stop(&w->poll);
        sys_close(w->epoll);
        uv_close((uv_handle_t *)&w->poll, on_closed);
        return NULL;
}

static int make_room(struct watch *w, int fd)
{
        size_t n = w->n_places ? w->n_places : 64;
        while (n <= (size_t)fd)
                n *= 2;
        if (n == w->n_places)
                return 0;
        struct place *more = realloc(w->places, n * sizeof *more);
        if (!more)
                return -ENOMEM;
        for (size_t i = w->n_places; i < n; i++)
                more[i] = (struct place){0};
        w->places = more;
        w->n_places = n;
        return 0;
}

static int change(struct watched *watched, uint32_t events)
{
        struct watch *w = watched->watch;
        struct epoll_event event = {.events = events,
                                    .data.u64 = name(watched->fd, w->places[watched->fd].start)};
        int r = watched->events == events ? 0 : sys_epoll_ctl(w->epoll, EPOLL_CTL_MOD, watched->fd, &event);
        if (r == 0)
                watched->events = events;
        return r;
}

int watch_start(struct watched *watched, struct watch *w, int fd, uint32_t events, watch_callback callback)
{
        if (watched->watch)
                return change(watched, events);
        int r = fd < 0 ? -EBADF : make_room(w, fd);
        struct epoll_event event = {.events = events, .data.u64 = name(fd, w->starts + 1)};
        if (r == 0)
                r = sys_epoll_ctl(w->epoll, EPOLL_CTL_ADD, fd, &event);
        if (r < 0)
                return r;
        w->places[fd] = (struct place){watched, ++w->starts};
        *watched = (struct watched){.watch = w, .callback = callback, .fd = fd, .events = events};
        return 0;
}

static void forget(struct watched *watched)
{
        watched->watch->places[watched->fd].watched = NULL;
        watched->watch = NULL;
}

void watch_stop(struct watched *watched)
{
        struct watch *w = watched->watch;
        if (!w)
                return;
        forget(watched);
        sys_epoll_ctl(w->epoll, EPOLL_CTL_DEL, watched->fd, NULL);
}

void watch_close(struct watched *watched, int fd)
{
        if (watched->watch)
                forget(watched);
        sys_close(fd);
}
