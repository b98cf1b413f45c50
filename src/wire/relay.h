/* wire/relay.h -- transports a message socket (message.h) over one byte stream that cannot carry
 * descriptors.
 *
 * There is a relay at each end of the stream: one inside a container, beside init, and one outside.  Each
 * holds one end of a socket; the other end belongs to init or to its owner, which use it as usual.  A
 * descriptor that is sent with a message stays in the near relay.  The far relay creates a pipe, socket or
 * terminal in its place, and both relays forward the data as a numbered stream.
 *
 *      owner -- socket -- relay === byte stream === relay -- socket -- init
 *         \---- pipe -----/                           \---- pipe ---- command
 *
 * The data in transit is limited: for each stream, the far side accepts RELAY_WINDOW bytes, and more after
 * it has delivered some (RELAY_GRANT).  So a stream that is not read does not block the others or the
 * messages, which are stream 0.  The end of a command (INIT_EXITED) is delivered after the command's
 * output, as with a pipe.
 *
 * Outside, all input is untrusted: invalid input ends the relay (-EPROTO).  No function here uses libc
 * functions that keep state: inside, the relay runs in a thread that libc does not know about. */
#pragma once
#include <poll.h>
#include <stdbool.h>

#include "cella.h"
#include "wire/init.h"
#include "wire/message.h"

#define RELAY_WINDOW 65536u
#define RELAY_DATA_MAX 16384u /* per frame */
#define RELAY_STREAMS 1024u   /* concurrent descriptors; messages with more wait */
#define RELAY_HELD 256u
#define RELAY_GREETING 0x616c6c65u /* inside: value in the first frame that identifies the peer */

enum relay_frame_kind {
        RELAY_HELLO = 1, /* stream is RELAY_GREETING, value relay_kernel() */
        RELAY_DATA,      /* value bytes follow */
        RELAY_GRANT,     /* value more bytes are accepted.  The first grant confirms that the descriptor's
                            replacement exists; before it, the sender sends nothing on the stream */
        RELAY_END,       /* end of data.  Stream 0: the socket was closed */
        RELAY_STOP,      /* the data is not read any more */
        RELAY_SIZE,      /* of a terminal: columns << 16 | rows */
};

struct relay_frame {
        uint32_t kind, stream, value;
};

/* What the receiver of a descriptor does with it. */
enum relay_kind { RELAY_NONE, RELAY_READS, RELAY_WRITES, RELAY_BOTH, RELAY_TERMINAL };

/* A message on stream 0, followed by len bytes.  Streams opened inside have odd numbers. */
struct relay_record {
        uint32_t type, tag, len, n_fds;
        struct {
                uint32_t stream, kind;
        } fds[MESSAGE_FDS_MAX];
};

struct relay_stream {
        uint32_t id, tag;
        enum relay_kind kind; /* kind of the descriptor.  RELAY_NONE: the entry is free */
        bool open;            /* the far side knows the stream */
        bool open_due;        /* an acknowledgement must be sent to the other side */
        int fd;
        /* From fd to the far side: */
        bool reads, end_due;
        bool wet; /* must be read until it is empty before a held message is sent */
        uint32_t credit;
        /* From the far side to fd: */
        bool writes, ended, stopped, stop_due;
        uint32_t in_flight; /* received but not granted again */
        uint32_t consumed;  /* of these, written to fd */
        char *ring;         /* NULL: no data has had to wait yet */
        uint32_t at, len;
        uint32_t size; /* of a terminal, as last sent */
};

/* A message in transit. */
struct relay_parcel {
        struct relay_record record;
        char *data;
        size_t done; /* bytes of record and data that were received or sent */
        bool full;   /* complete, to be forwarded */
        int fds[MESSAGE_FDS_MAX];
};

struct relay {
        /* Set by the caller: */
        bool inside;
        int in, out; /* the byte stream; non-blocking */
        int local;   /* the socket; non-blocking */
        /* Reads at most size bytes of the stream into data.  Returns 0 at its end, -EAGAIN or -errno. */
        long (*receive)(struct relay *relay, char *data, size_t size);
        /* Outside only: returns a terminal's master for the owner and the other end in *ret_ours. */
        int (*open_terminal)(int *ret_ours);
        void *context;

        struct message_reader reader;
        struct relay_parcel sent;     /* from the socket to the far side */
        struct relay_parcel received; /* from the far side to the socket */
        struct {
                uint32_t type, tag, len;
                char data[64];
        } held[RELAY_HELD]; /* INIT_EXITED messages that wait for the output before them */
        unsigned n_held;
        uint32_t n_messages; /* completely sent to the socket */
        uint32_t last;       /* send no more messages after this number; 0: no limit */
        uint32_t next_id;
        uint32_t terminals_due; /* outside: requested but not yet received */
        bool local_closed, far_closed;
        bool deaf;       /* the socket's peer does not read messages any more */
        bool greeted;    /* outside: the hello has arrived */
        uint32_t kernel; /* relay_kernel() of the peer */
        struct relay_stream control, streams[RELAY_STREAMS];
        unsigned n_streams;       /* entries that were ever used */
        unsigned first;           /* the stream that is served first, round robin */
        struct relay_frame frame; /* the frame that is being received */
        char frame_head[sizeof(struct relay_frame)];
        uint32_t frame_got, data_left;
        size_t out_at, out_len;
        struct pollfd polls[RELAY_STREAMS + 3];
        char in_bytes[32768], out_bytes[65536];
};

/* Bytes of message buffers per relay. */
#define RELAY_BUFFERS (INIT_REQUEST_MAX + INIT_REPLY_MAX)

/* *relay is zeroed memory in which the caller has set the first fields; buffers has RELAY_BUFFERS bytes. */
void relay_init(struct relay *relay, char *buffers);
/* Closes the descriptors of all streams. */
void relay_done(struct relay *relay);

/* Forwards data until the far side is gone or, outside, until the socket is closed and everything is sent:
 * returns 0 or -errno.  If messages is not 0, returns 1 after this number of messages was sent to the
 * socket. */
int relay_run(struct relay *relay, uint32_t messages);

/* Returns a number that identifies the running kernel's version. */
uint32_t relay_kernel(void);

/* For tests: processes bytes of the stream.  Returns 0 or -EPROTO. */
int relay_take(struct relay *relay, const char *data, size_t len);

/* ---- internal: used by relay.c, relay_message.c and relay_stream.c ---- */

/* Parts of the send buffer that are reserved for messages, and within that for frames without data. */
#define RELAY_FOR_MESSAGES 20480u
#define RELAY_FOR_FRAMES 4096u
size_t relay_room(const struct relay *relay, size_t kept); /* for data, without the frame header */
void relay_put(struct relay *relay, enum relay_frame_kind kind, uint32_t stream, uint32_t value);
void relay_put_bytes(struct relay *relay, const char *data, size_t len);
size_t relay_ring_take(struct relay_stream *stream, char *data, size_t len);
struct relay_stream *relay_stream_new(struct relay *relay, uint32_t id, uint32_t tag, enum relay_kind kind);
struct relay_stream *relay_stream_find(struct relay *relay, uint32_t id);
unsigned relay_streams_free(const struct relay *relay);
void relay_flush(struct relay_stream *stream);        /* writes buffered data to the descriptor */
void relay_end_reading(struct relay_stream *stream);  /* nothing more is sent to the far side */
void relay_stop_writing(struct relay_stream *stream); /* data from the far side is discarded from now on */
void relay_free_if_over(struct relay_stream *stream);

/* Forwards messages from the socket as far as possible.  Returns 0 or -errno. */
int relay_send_messages(struct relay *relay);
/* Forwards messages to the socket as far as they have arrived.  Returns 0 or -errno. */
int relay_deliver_messages(struct relay *relay);
bool relay_wants_messages(const struct relay *relay);
