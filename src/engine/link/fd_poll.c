#include "engine/link/fd_poll.h"

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "sys/file.h"

static void fd_poll_on_event(uv_poll_t *handle, int status, int events)
{
        struct fd_poll *p = handle->data;
        p->callback(p, status < 0 ? 0 : events);
}

static void fd_poll_on_closed(uv_handle_t *handle)
{
        free(handle);
}

int fd_poll_start(struct fd_poll *p, uv_loop_t *loop, int fd, int events, fd_poll_callback callback)
{
        if (!p->handle) {
                uv_poll_t *handle = fd < 0 ? NULL : malloc(sizeof *handle);
                int r = fd < 0 ? -EBADF : handle ? uv_poll_init(loop, handle, fd) : -ENOMEM;
                if (r < 0) {
                        free(handle);
                        return r;
                }
                handle->data = p;
                *p = (struct fd_poll){handle, callback};
        }
        return uv_poll_start(p->handle, events, fd_poll_on_event);
}

void fd_poll_stop(struct fd_poll *p)
{
        if (p->handle)
                uv_close((uv_handle_t *)TAKE(p->handle), fd_poll_on_closed);
}

void fd_poll_close(struct fd_poll *p, int fd)
{
        fd_poll_stop(p);
        sys_close(fd);
}
