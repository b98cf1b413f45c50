/* cli/client/head.h -- parses the head of the daemon's answer, line by line as libcurl passes it.
 *
 * libcurl is lenient.  This refuses everything that is ambiguous or not HTTP/1. */
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
        bool complete;    /* the head of the final answer is complete */
        unsigned interim; /* interim answers (1xx) before it */
        size_t bytes;     /* of all lines so far, trailers included */
        const char *wrong;
};

void head_init(struct head *h);
/* Parses one line with its line end.  Returns false if the answer is refused; h->wrong is the reason. */
bool head_line(struct head *h, const char *line, size_t len);
