/* keeper/process/outbox.h -- the packets to the server, in order, without ever blocking.
 *
 * What the socket does not take at once waits here.  Who sends must not read further requests
 * while something does: then there is at most one answer a sandbox waiting, and its death. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct outbox_packet; /* opaque */

struct outbox {
        int socket;
        struct outbox_packet *first, *last;
        size_t n;
};

/* What goes with a packet. */
struct outbox_rights {
        int fd;          /* the outbox's from then on; -1: none */
        const int *lent; /* these stay the caller's, and go behind it; the last may not get there */
        unsigned n_lent; /* SYS_RIGHTS_MAX - 1 at most; without fd: none */
};

/* Takes rights->fd, whatever comes of it.  0, also when it has to wait; -EPIPE: nobody is there; -EOVERFLOW:
 * far too many wait; -ETOOMANYREFS: too many descriptors of this user are on their way, his own or those of
 * others. */
int outbox_send(struct outbox *outbox, const void *packet, size_t len, const struct outbox_rights *rights);

/* Sends what waits, as far as it goes. */
int outbox_flush(struct outbox *outbox);

static inline bool outbox_waits(const struct outbox *outbox)
{
        return outbox->first != NULL;
}

void outbox_done(struct outbox *outbox);
