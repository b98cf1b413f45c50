/* wire/relay.h -- a socket of messages (message.h) over one stream of bytes that carries no descriptors.
 *
 * There is a relay at each end of the stream: inside a container, beside init, and outside.  Each holds one
 * end of a socket, and whoever has the other end of that talks to init, or to its owner, as always.  A
 * descriptor that goes with a message stays where it is; the far relay makes a pipe, socket or terminal in
 * its place, and the two move what goes through it, as a numbered stream among others.
 *
 *      owner -- socket -- relay === stream of bytes === relay -- socket -- init
 *        \---- pipe ------/                                \---- pipe ---- command
 *
 * What is on the way is bounded: of each stream the far side takes RELAY_WINDOW bytes, and more when it got
 * rid of some (RELAY_GRANT).  So one that nobody reads does not stop the others, nor the messages, which are
 * stream 0.  That a command has ended (INIT_EXITED) is told when what it wrote has gone before, as it is with
 * a pipe.
 *
 * Outside, all that comes is hostile: what does not fit ends it (-EPROTO).  Nothing here calls what keeps
 * state in libc: inside, it runs in a thread that libc does not know of. */
#pragma once
#include <poll.h>
#include <stdbool.h>

#include "cella.h"
#include "wire/init.h"
#include "wire/message.h"

#define RELAY_WINDOW 65536u
#define RELAY_DATA_MAX 16384u /* of one frame */
#define RELAY_STREAMS 1024u   /* descriptors at once; with more, messages wait */
#define RELAY_HELD 256u
#define RELAY_GREETING 0x616c6c65u /* inside: the first frame, so that one knows who is there */

enum relay_frame_kind {
        RELAY_HELLO = 1, /* stream is RELAY_GREETING, value relay_kernel() */
        RELAY_DATA,      /* value bytes follow */
        RELAY_GRANT, /* value bytes more may come.  The first says that a descriptor has its stand-in: before
                      * that, who sent it says nothing of its stream */
        RELAY_END,   /* nothing more comes.  Of stream 0: whoever had the socket has closed it */
        RELAY_STOP,  /* nobody wants more of it */
        RELAY_SIZE,  /* of a terminal: columns << 16 | rows */
};

struct relay_frame {
        uint32_t kind, stream, value;
};

/* What the receiver of a descriptor does with it. */
enum relay_kind { RELAY_NONE, RELAY_READS, RELAY_WRITES, RELAY_BOTH, RELAY_TERMINAL };

/* On stream 0: a message; then len bytes.  Streams opened inside have odd numbers. */
struct relay_record {
        uint32_t type, tag, len, n_fds;
        struct {
                uint32_t stream, kind;
        } fds[MESSAGE_FDS_MAX];
};

struct relay_stream {
        uint32_t id, tag;
        enum relay_kind kind; /* of the descriptor that was sent.  RELAY_NONE: the place is free */
        bool open;            /* the far side knows of it */
        bool open_due;        /* and is to know that we do */
        int fd;
        /* From fd to the far side: */
        bool reads, end_due;
        bool wet; /* to be read until there is no more, before a message that waits */
        uint32_t credit;
        /* From the far side to fd: */
        bool writes, ended, stopped, stop_due;
        uint32_t in_flight; /* sent and not granted again */
        uint32_t consumed;  /* of these, what has gone to fd */
        char *ring;         /* NULL: nothing had to wait yet */
        uint32_t at, len;
        uint32_t size; /* of a terminal, as last told */
};

/* A message on its way through. */
struct relay_parcel {
        struct relay_record record;
        char *data;
        size_t done; /* bytes of record and data that have come, or gone */
        bool full;   /* it is all there, and is to go on */
        int fds[MESSAGE_FDS_MAX];
};

struct relay {
        /* Set by who starts it: */
        bool inside;
        int in, out; /* the stream of bytes; not blocking */
        int local;   /* the socket; not blocking */
        /* Bytes of the stream into data, of at most size; 0 at its end, -EAGAIN, -errno. */
        long (*receive)(struct relay *relay, char *data, size_t size);
        /* A terminal's master for the owner, and in *ret_ours the other end.  Outside only. */
        int (*open_terminal)(int *ret_ours);
        void *context;

        struct message_reader reader;
        struct relay_parcel sent;     /* from the socket to the far side */
        struct relay_parcel received; /* from the far side to the socket */
        struct {
                uint32_t type, tag, len;
                char data[64];
        } held[RELAY_HELD]; /* INIT_EXITED that wait for what was written before */
        unsigned n_held;
        uint32_t n_messages; /* that went to the socket, whole */
        uint32_t last;       /* of these, after which none goes; 0: all may */
        uint32_t next_id;
        uint32_t terminals_due; /* outside: that were asked for and have not come */
        bool local_closed, far_closed;
        bool deaf;       /* nobody takes messages from the socket any more */
        bool greeted;    /* outside: init is there */
        uint32_t kernel; /* and in this one, as relay_kernel() has it */
        struct relay_stream control, streams[RELAY_STREAMS];
        unsigned n_streams;       /* places that were ever used */
        unsigned first;           /* whose turn it is to be the first */
        struct relay_frame frame; /* of which data is coming */
        char frame_head[sizeof(struct relay_frame)];
        uint32_t frame_got, data_left;
        size_t out_at, out_len;
        struct pollfd polls[RELAY_STREAMS + 3];
        char in_bytes[32768], out_bytes[65536];
};

/* Bytes that each end needs for its messages. */
#define RELAY_BUFFERS (INIT_REQUEST_MAX + INIT_REPLY_MAX)

/* *relay is zeroed memory, with its first fields set; buffers has RELAY_BUFFERS bytes. */
void relay_init(struct relay *relay, char *buffers);
/* Every descriptor of a stream is closed. */
void relay_done(struct relay *relay);

/* Moves bytes until the far side is gone, or the socket is closed and all is told: 0, or -errno.  Or, if
 * messages is not 0, until so many went to the socket, and no more: 1. */
int relay_run(struct relay *relay, uint32_t messages);

/* A number for the kernel we run in: of its version. */
uint32_t relay_kernel(void);

/* For tests: takes bytes of the stream as they come.  0 or -EPROTO. */
int relay_take(struct relay *relay, const char *data, size_t len);

/* ---- between relay.c, relay_message.c and relay_stream.c ---- */

/* Part of the room to send is for messages, and part of that for frames without data. */
#define RELAY_FOR_MESSAGES 20480u
#define RELAY_FOR_FRAMES 4096u
size_t relay_room(const struct relay *relay, size_t kept); /* for data, without its frame's head */
void relay_put(struct relay *relay, enum relay_frame_kind kind, uint32_t stream, uint32_t value);
void relay_put_bytes(struct relay *relay, const char *data, size_t len);
size_t relay_ring_take(struct relay_stream *stream, char *data, size_t len);
struct relay_stream *relay_stream_new(struct relay *relay, uint32_t id, uint32_t tag, enum relay_kind kind);
struct relay_stream *relay_stream_find(struct relay *relay, uint32_t id);
unsigned relay_streams_free(const struct relay *relay);
void relay_flush(struct relay_stream *stream);        /* what waits for its descriptor */
void relay_end_reading(struct relay_stream *stream);  /* nothing more goes to the far side */
void relay_stop_writing(struct relay_stream *stream); /* nobody takes what comes from there */
void relay_free_if_over(struct relay_stream *stream);

/* Messages from the socket, as far as they can go.  0 or -errno. */
int relay_send_messages(struct relay *relay);
/* Messages to the socket, as far as they have come.  0 or -errno. */
int relay_deliver_messages(struct relay *relay);
bool relay_wants_messages(const struct relay *relay);
