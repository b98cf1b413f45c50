/* wire/message.h -- framed messages with descriptors over a Unix stream socket.
 *
 * A frame is a fixed header followed by len bytes.  The tag identifies the request that a frame belongs to;
 * a reply has the tag of its request.  The receiver specifies the maximum length.  A longer or malformed
 * frame is -EPROTO, and the connection cannot be used any more.  Nothing here allocates memory. */
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

/* Creates a connected pair, close-on-exec. */
int message_pair(int ret[2]);

/* Sends a frame whose data is in one or two parts.  Blocks.  Returns 0 or -errno; -EPIPE if the peer has
 * closed. */
int message_send(int socket, uint32_t type, uint32_t tag, const int *fds, unsigned n_fds, const void *data,
                 size_t len, const void *more, size_t more_len);

/* Closes received descriptors, for receivers that do not expect any. */
void message_close_fds(struct message *message);

/* Receives a frame of at most size bytes into data.  Returns 1, 0 if the peer has closed the connection
 * between frames, or -errno.  On failure, received descriptors are closed. */
int message_receive(int socket, struct message *ret, void *data, size_t size);

/* Non-blocking receiver: assembles frames from the bytes that have arrived. */
struct message_reader {
        char *data; /* buffer for a frame; owned by the caller */
        size_t size;
        struct message frame;
        uint32_t header[3];
        size_t got; /* bytes of header and data together */
};

void message_reader_init(struct message_reader *reader, void *data, size_t size);
void message_reader_done(struct message_reader *reader);

/* Reads what is available.  Returns 1 with a complete frame (the caller owns its descriptors), 0 if the
 * peer has closed the connection between frames, -EAGAIN if the frame is incomplete, or -errno. */
int message_read(struct message_reader *reader, int socket, struct message *ret);

/* Non-blocking receiver that reads all available frames with one system call.  Which frame a descriptor
 * belongs to follows from its position: the kernel ends a read after the bytes that were sent with
 * descriptors, and a frame's descriptors are sent with its first byte.  So they belong to the last frame
 * that starts in the data read. */
#define MESSAGE_AHEAD_BYTES(size) (3 * sizeof(uint32_t) + (size)) /* buffer for frames of size bytes */

struct message_ahead {
        char *data; /* owned by the caller */
        size_t size;
        size_t at, end;       /* read but not yet returned */
        struct message first; /* descriptors of the frame that starts at `at` */
        struct message last;  /* descriptors of a later frame, which starts */
        size_t last_at;       /* at this offset */
        bool drained;
};

void message_ahead_init(struct message_ahead *reader, void *data, size_t size);
void message_ahead_done(struct message_ahead *reader);

/* Returns a frame that was read: 1 (the caller owns its descriptors; its bytes are valid until the next
 * read), 0 if there is no complete frame, or -EPROTO. */
int message_ahead_next(struct message_ahead *reader, struct message *ret, const char **ret_data);

/* Reads more.  Call it when message_ahead_next() returns 0.  Returns 1, 0 if the peer has closed the
 * connection between frames, -EAGAIN, or -errno. */
int message_ahead_read(struct message_ahead *reader, int socket);

/* Returns true if the last read has emptied the socket. */
bool message_ahead_drained(const struct message_ahead *reader);
