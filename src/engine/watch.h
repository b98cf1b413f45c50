/* engine/watch.h -- descriptors that live as long as one execution, in an event loop.
 *
 * A handle of libuv is for what stays: it costs a dozen system calls to try out, start, stop and close one,
 * and its memory has to stay until the loop comes round again.  Here the loop knows of one descriptor, an
 * epoll of our own, and what is added to that costs one call; who closes its descriptor needs no second one.
 *
 * After watch_stop() and watch_close() no callback comes, not even for what had happened before; the
 * struct may be freed or used anew at once, from within its own callback too.  One thread. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <uv.h>

#include "base/auto.h"
#include "cella.h"

struct watch;
struct watched;

/* events: of EPOLLIN and EPOLLOUT what was asked for; EPOLLERR and EPOLLHUP come unasked. */
typedef void (*watch_callback)(struct watched *watched, uint32_t events);

/* Embedded in what it is for; all zero when it watches nothing. */
struct watched {
        struct watch *watch; /* NULL: not watched */
        watch_callback callback;
        int fd;
        uint32_t events;
};

int watch_new(uv_loop_t *loop, struct watch **ret, struct cella_err *err);
/* What is left in it is not called any more.  Its memory goes when the loop has closed the handle. */
struct watch *watch_free(struct watch *watch);
DEFINE_AUTO(struct watch *, watch_free)

/* Calls back as long as one of the events holds.  Of one that is started already, only the events are
 * changed; a descriptor has one at most.  -errno: it is as it was. */
int watch_start(struct watched *watched, struct watch *watch, int fd, uint32_t events,
                watch_callback callback);
void watch_stop(struct watched *watched);

/* Stops, and closes the descriptor, which nobody else may have a copy of: that is what removes it. */
void watch_close(struct watched *watched, int fd);
