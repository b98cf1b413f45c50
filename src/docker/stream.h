/* docker/stream.h -- the output stream of a container without a terminal, as engines send it: pieces of
 * standard output and error, each after a head of eight bytes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream {
        unsigned char head[8];
        unsigned got;
        uint32_t left; /* remaining bytes of the current piece */
        bool wanted;   /* it is standard output */
};

#define STREAM_PIECE_MAX (16u << 20)

/* Processes len bytes in place and keeps those of standard output.  Returns their number or -EPROTO. */
long stream_take(struct stream *stream, char *data, size_t len);

/* Parses the head of the HTTP answer before the stream.  Returns its length, 0 if it is incomplete, or
 * -EPROTO; sets the HTTP status. */
long stream_answer(const char *text, size_t len, int *ret_status);
