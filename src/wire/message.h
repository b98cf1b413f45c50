/* wire/message.h -- framed messages over a Unix stream socket, with descriptors.
 *
 * A frame is a fixed header, then len bytes.  The receiver states the most it will
 * take; a longer or malformed frame is -EPROTO and the connection is of no more use.
 * Nothing here allocates. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_FDS_MAX 8

struct message {
        uint32_t type;
        uint32_t len;
        int fds[MESSAGE_FDS_MAX]; /* owned by the receiver */
        unsigned n_fds;
};

/* A connected pair, close-on-exec. */
int message_pair(int ret[2]);

/* Sends a frame of one or two parts.  Blocks.  -EPIPE when the peer is gone. */
int message_send(int socket, uint32_t type, const int *fds, unsigned n_fds, const void *data, size_t len,
                 const void *more, size_t more_len);

/* For who expects no descriptors: closes those that came. */
void message_close_fds(struct message *message);

/* Receives a frame into data, of at most size bytes.  Returns 1, or 0 when the peer has
 * closed between frames, or -errno.  Descriptors that a failed call received are closed. */
int message_receive(int socket, struct message *ret, void *data, size_t size);
