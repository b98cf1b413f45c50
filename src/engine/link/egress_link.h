/* engine/link/egress_link.h -- the server's end of the socket to the egress process, in the event loop.
 *
 * Packets are sent in order and never block the loop.  A received packet of the wrong size ends the link,
 * because the egress process may have been compromised by the traffic that it handles. */
#pragma once
#include <uv.h>

#include "cella.h"
#include "wire/egress.h"

struct egress_link;

/* Any received packet; `type` tells which. */
union egress_packet {
        uint32_t type;
        struct egress_about about; /* EGRESS_FAILED */
        struct egress_counted counted;
        struct egress_refused refused;
};

/* egress_link_free() may be called in each callback; then no other follows. */
struct egress_link_events {
        void (*on_packet)(void *userdata, const union egress_packet *packet);
        void (*on_room)(void *userdata); /* the queue is empty again */
        void (*on_lost)(void *userdata); /* the process is gone or sent nonsense; last */
};

/* Takes fd, also on failure. */
int egress_link_new(uv_loop_t *loop, int fd, const struct egress_link_events *events, void *userdata,
                    struct egress_link **ret, struct cella_err *err);
/* Closes the socket, which ends the process. */
struct egress_link *egress_link_free(struct egress_link *link);

/* Copies the data and duplicates the descriptors (at most two).  -EMFILE: a descriptor could not be
 * duplicated; -ENOBUFS: the queue is full; other errors: the link is unusable, and on_lost follows. */
int egress_link_send(struct egress_link *link, const void *data, size_t len, const int *fds, unsigned n_fds);
size_t egress_link_waiting(const struct egress_link *link); /* bytes in the queue */
