/* engine/link/fd_poll.h -- waits for one descriptor in libuv's event loop.
 *
 * A uv_poll_t must stay in memory until libuv has closed it.  It is therefore allocated here, and struct
 * fd_poll can be embedded in an object that is freed at any time: after fd_poll_stop() there are no
 * callbacks.  One thread. */
#pragma once
#include <uv.h>

struct fd_poll;

/* events: UV_READABLE and UV_WRITABLE, as requested; a hangup counts as both.  0: an error of the descriptor;
 * there are no more callbacks until fd_poll_start() is called again. */
typedef void (*fd_poll_callback)(struct fd_poll *poll, int events);

/* All zero: not started. */
struct fd_poll {
        uv_poll_t *handle; /* owned; NULL: not started */
        fd_poll_callback callback;
};

/* Calls back while one of the events is true.  If already started, only changes the events.  Borrows fd and
 * makes it non-blocking; it must not be closed before fd_poll_stop().  Returns 0, or -errno without any
 * change. */
int fd_poll_start(struct fd_poll *poll, uv_loop_t *loop, int fd, int events, fd_poll_callback callback);

/* Stops the callbacks.  Allowed in the callback itself, and if not started. */
void fd_poll_stop(struct fd_poll *poll);

/* fd_poll_stop(), and closes the descriptor. */
void fd_poll_close(struct fd_poll *poll, int fd);
