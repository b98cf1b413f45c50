/* engine/link/egress_link.h -- the server's end of the socket to the egress process, in its event loop.
 *
 * Whole packets, in order; sending never blocks the loop.  What comes has the size of its type, or the
 * link is lost: an egress process that was taken over by what it moves is no friend. */
#pragma once
#include <uv.h>

#include "cella.h"
#include "wire/egress.h"

struct egress_link;

/* Any packet that comes; `type` says which. */
union egress_packet {
        uint32_t type;
        struct egress_about about; /* EGRESS_FAILED */
        struct egress_counted counted;
        struct egress_refused refused;
};

/* egress_link_free() may be called from each, and then none follows. */
struct egress_link_events {
        void (*on_packet)(void *userdata, const union egress_packet *packet);
        void (*on_room)(void *userdata); /* everything that waited is sent */
        void (*on_lost)(void *userdata); /* it is gone, or talks nonsense: last */
};

/* Takes fd, on failure too. */
int egress_link_new(uv_loop_t *loop, int fd, const struct egress_link_events *events, void *userdata,
                    struct egress_link **ret, struct cella_err *err);
/* The process ends with it. */
struct egress_link *egress_link_free(struct egress_link *link);

/* Copies all of it, the descriptors too (at most two).  -EMFILE: these could not be; -ENOBUFS: it takes
 * nothing; others: the link is of no more use, and on_lost comes. */
int egress_link_send(struct egress_link *link, const void *data, size_t len, const int *fds, unsigned n_fds);
size_t egress_link_waiting(const struct egress_link *link); /* bytes that wait to be sent */
