#include "engine/link/imager_link.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"

#define LINES_AT_ONCE 64 /* per event, to let other descriptors proceed */

struct imager_link {
        int fd;
        uv_poll_t poll;
        const struct imager_link_events *events; /* NULL: it is being closed */
        void *userdata;
        struct imager_reader reader;
};

static void imager_link_on_poll(uv_poll_t *poll, int status, int events)
{
        struct imager_link *link = poll->data;
        struct imager_event event;
        char *line;
        size_t len;
        int r = 1;
        (void)events;
        /* A complete line in the buffer would not make the socket readable again. */
        for (int i = 0; link->events && (i < LINES_AT_ONCE || imager_has_line(&link->reader)); i++) {
                if ((r = imager_read(&link->reader, link->fd, &line, &len)) <= 0)
                        break;
                if ((r = imager_event_parse(line, len, &event)) < 0)
                        break;
                r = 1;
                link->events->on_event(link->userdata, &event);
        }
        if (link->events && r <= 0 && r != -EAGAIN)
                link->events->on_lost(link->userdata, r == -EPROTO);
        else if (link->events && status < 0) /* libuv has stopped polling, but there may be more to read */
                uv_poll_start(&link->poll, UV_READABLE, imager_link_on_poll);
}

int imager_link_new(uv_loop_t *loop, int fd, const struct imager_link_events *events, void *userdata,
                    struct imager_link **ret, struct cella_err *err)
{
        struct imager_link *link = calloc(1, sizeof *link);
        int r = link ? uv_poll_init(loop, &link->poll, fd) : -ENOMEM;
        if (r < 0) {
                close(fd);
                free(link);
                return err_set(err, CELLA_INTERNAL, r, "cannot watch cella-image");
        }
        link->fd = fd;
        link->poll.data = link;
        link->events = events;
        link->userdata = userdata;
        uv_poll_start(&link->poll, UV_READABLE, imager_link_on_poll);
        *ret = link;
        return 0;
}

static void imager_link_on_closed(uv_handle_t *handle)
{
        free(handle->data);
}

struct imager_link *imager_link_free(struct imager_link *link)
{
        if (!link)
                return NULL;
        link->events = NULL;
        uv_poll_stop(&link->poll);
        close(link->fd);
        uv_close((uv_handle_t *)&link->poll, imager_link_on_closed);
        return NULL;
}

int imager_link_send(struct imager_link *link, const char *line, size_t len, int fd)
{
        return imager_send(link->fd, line, len, fd);
}
