/* engine/link/imager_link.h -- the server's end of the socket to cella-image, in its event loop.
 *
 * Lines, in order; sending never blocks the loop.  A line that is none of wire/imager.h loses the link: who
 * unpacks what strangers packed may have been taken over by it. */
#pragma once
#include <uv.h>

#include "cella.h"
#include "wire/imager.h"

struct imager_link;

/* imager_link_free() may be called from each, and then none follows. */
struct imager_link_events {
        void (*on_event)(void *userdata, const struct imager_event *event);
        void (*on_lost)(void *userdata, bool nonsense); /* it is gone, or talks nonsense: last */
};

/* Takes fd, on failure too. */
int imager_link_new(uv_loop_t *loop, int fd, const struct imager_link_events *events, void *userdata,
                    struct imager_link **ret, struct cella_err *err);
/* It cancels what it does, and ends. */
struct imager_link *imager_link_free(struct imager_link *link);

/* A line of imager_write_*(), with a descriptor (-1: none), which stays the caller's.  Less than 0: the link
 * is of no more use. */
int imager_link_send(struct imager_link *link, const char *line, size_t len, int fd);
