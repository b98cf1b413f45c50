/* wire/message.h -- framed messages over a Unix stream socket, with descriptors.
 *
 * A frame is a fixed header, then len bytes.  The tag tells which of several requests a
 * frame is about; an answer carries that of its request.  The receiver states the most it
 * will take; a longer or malformed frame is -EPROTO and the connection is of no more use.
 * Nothing here allocates. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_FDS_MAX 10

struct message {
        uint32_t type;
        uint32_t tag;
        uint32_t len;
        int fds[MESSAGE_FDS_MAX]; /* owned by the receiver */
        unsigned n_fds;
};

/* A connected pair, close-on-exec. */
int message_pair(int ret[2]);

/* Sends a frame of one or two parts.  Blocks.  -EPIPE when the peer is gone. */
int message_send(int socket, uint32_t type, uint32_t tag, const int *fds, unsigned n_fds, const void *data,
                 size_t len, const void *more, size_t more_len);

/* For who expects no descriptors: closes those that came. */
void message_close_fds(struct message *message);

/* Receives a frame into data, of at most size bytes.  Returns 1, or 0 when the peer has
 * closed between frames, or -errno.  Descriptors that a failed call received are closed. */
int message_receive(int socket, struct message *ret, void *data, size_t size);

/* The same for who must not block: frames are put together as their bytes come. */
struct message_reader {
        char *data; /* where a frame's bytes go; the caller's */
        size_t size;
        struct message frame;
        uint32_t header[3];
        size_t got; /* of header and data together */
};

void message_reader_init(struct message_reader *reader, void *data, size_t size);
void message_reader_done(struct message_reader *reader);

/* Reads what is there.  Returns 1 with a whole frame (whose descriptors are the caller's then),
 * 0 when the peer has closed between frames, -EAGAIN when there is no more for now, or -errno. */
int message_read(struct message_reader *reader, int socket, struct message *ret);

/* The same with one call for all that is there, however many frames: what a descriptor is for is told by
 * where it came.  The kernel lets a reading end with the bytes that have some, and a frame's go with its
 * first byte, so they are for the last frame that begins in what was read. */
#define MESSAGE_AHEAD_BYTES(size) (3 * sizeof(uint32_t) + (size)) /* room for frames of up to size bytes */

struct message_ahead {
        char *data; /* the caller's */
        size_t size;
        size_t at, end;       /* what was read and not yet given out */
        struct message first; /* the descriptors of the frame that begins at `at`, */
        struct message last;  /* and of one behind it, */
        size_t last_at;       /* here */
        bool drained;
};

void message_ahead_init(struct message_ahead *reader, void *data, size_t size);
void message_ahead_done(struct message_ahead *reader);

/* Gives out a frame that was read.  1 (its descriptors are the caller's then, its bytes stay until the next
 * reading), 0 when there is no whole one, or -EPROTO. */
int message_ahead_next(struct message_ahead *reader, struct message *ret, const char **ret_data);

/* Reads, when message_ahead_next() has no more.  1, 0 when the peer has closed between frames, -EAGAIN, or
 * -errno. */
int message_ahead_read(struct message_ahead *reader, int socket);

/* Whether the last reading has found all that there was. */
bool message_ahead_drained(const struct message_ahead *reader);
