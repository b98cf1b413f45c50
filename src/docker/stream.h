/* docker/stream.h -- the stream of a container without a terminal, as engines send it: pieces of its standard
 * output and error, each behind a head of eight bytes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream {
        unsigned char head[8];
        unsigned got;
        uint32_t left; /* of a piece */
        bool wanted;   /* it is standard output */
};

#define STREAM_PIECE_MAX (16u << 20)

/* Takes len bytes of it, and leaves at their place what is standard output: returns how much that is, or
 * -EPROTO. */
long stream_take(struct stream *stream, char *data, size_t len);

/* The head of the answer that the stream follows.  Its length, 0 if there is more to come, -EPROTO; and
 * the status of HTTP. */
long stream_answer(const char *text, size_t len, int *ret_status);
