/* cli/client/head.h -- the head of the daemon's answer, line by line as libcurl hands it on.
 *
 * libcurl is lenient.  Whatever is ambiguous or not HTTP/1 is refused here. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_UNKNOWN UINT64_MAX

struct head {
        int status;      /* 0: none yet */
        char type[64];   /* Content-Type without its parameters; "" if there is none */
        char accept[64]; /* Sec-WebSocket-Accept */
        uint64_t length; /* HEAD_UNKNOWN: not given */
        bool chunked;
        bool complete;    /* the final answer's head has come */
        unsigned interim; /* answers of 1xx before it */
        size_t bytes;     /* of all lines so far, trailers included */
        const char *wrong;
};

void head_init(struct head *h);
/* Takes one line with its end.  False: the answer is refused, and h->wrong says why. */
bool head_line(struct head *h, const char *line, size_t len);
