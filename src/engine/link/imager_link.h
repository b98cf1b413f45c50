/* engine/link/imager_link.h -- the server's end of the socket to cella-image, in the event loop.
 *
 * Lines are sent in order and never block the loop.  An invalid line ends the link, because cella-image may
 * have been compromised by an archive that it unpacks. */
#pragma once
#include <uv.h>

#include "cella.h"
#include "wire/imager.h"

struct imager_link;

/* imager_link_free() may be called in each callback; then no other follows. */
struct imager_link_events {
        void (*on_event)(void *userdata, const struct imager_event *event);
        void (*on_lost)(void *userdata, bool nonsense); /* the process is gone; last */
};

/* Takes fd, also on failure. */
int imager_link_new(uv_loop_t *loop, int fd, const struct imager_link_events *events, void *userdata,
                    struct imager_link **ret, struct cella_err *err);
/* Closes the socket.  cella-image cancels its work and exits. */
struct imager_link *imager_link_free(struct imager_link *link);

/* Sends a line of imager_write_*() with a borrowed descriptor (-1: none).  Returns 0, or -errno if the link
 * is unusable. */
int imager_link_send(struct imager_link *link, const char *line, size_t len, int fd);
