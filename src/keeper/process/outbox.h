/* keeper/process/outbox.h -- sends packets to the server in order and without blocking.
 *
 * Packets that the socket does not accept are queued.  The caller must not read further requests while the
 * queue is not empty: then the queue holds at most one answer and one death per sandbox. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct outbox_packet; /* opaque */

struct outbox {
        int socket;
        struct outbox_packet *first, *last;
        size_t n;
};

/* The descriptors that are sent with a packet. */
struct outbox_rights {
        int fd;          /* taken; -1: none */
        const int *lent; /* borrowed, sent after fd; the last ones may be left out */
        unsigned n_lent; /* at most SYS_RIGHTS_MAX - 1; ignored without fd */
};

/* Sends or queues a packet.  Takes rights->fd also on failure.  Returns 0, -EPIPE (the server is gone),
 * -EOVERFLOW (the queue is full) or -ETOOMANYREFS (this user has too many descriptors in flight). */
int outbox_send(struct outbox *outbox, const void *packet, size_t len, const struct outbox_rights *rights);

/* Sends queued packets until the socket is full.  Returns 0 or -errno. */
int outbox_flush(struct outbox *outbox);

static inline bool outbox_waits(const struct outbox *outbox)
{
        return outbox->first != NULL;
}

void outbox_done(struct outbox *outbox);
