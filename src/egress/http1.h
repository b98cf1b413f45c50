/* egress/http1.h -- follows the requests of an HTTP/1 connection, so that each is for who it says.
 *
 * Strict where two readers could differ: that is how requests are smuggled.  One space between the words of
 * the request line, CRLF line ends, no folded lines, no space before a colon, header names are tokens, no NUL
 * or bare CR, one Host, one Content-Length (digits only), not both that and Transfer-Encoding, which is
 * "chunked" alone, no HTTP/0.9, HTTP/1.0 and 1.1 only, no empty line before a request, no extensions of
 * chunks, no trailers.  What is not so is refused. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "egress/name.h"
#include "egress/policy.h"

#define HTTP1_HEAD_MAX 65536u

struct http1_request {
        /* Of Host, and equal to the one in an absolute request line; port 0: none was given. */
        struct destination to;
        uint8_t is_connect;  /* CONNECT name:port: what follows is not HTTP, and no body precedes it */
        uint8_t is_absolute; /* as to a proxy: from target_at on, what is before path_at is to be left out, so
                              * that the server sees GET /path */
        uint8_t wants_upgrade; /* what follows may be not HTTP, if the answer is 101.  Not set for HTTP/2: a
                                * 101 must not end the following of requests then */
        uint32_t head_length;  /* with the empty line */
        uint32_t target_at, target_length; /* of the request line */
        uint32_t path_at; /* in an absolute target: where the path begins; == target end: "/" */
};

struct http1 {         /* of the body that follows; zeroed at first */
        uint64_t left; /* bytes of the body, or of the chunk, that are to come */
        uint8_t chunked, state;
        uint8_t at_head; /* a head is not whole yet: `left` is how much of it was looked at, `state` whether
                          * its first line was */
        uint8_t line_length; /* digits of a chunk's size, bounded */
};

/* A whole head in data?  1: yes, 0: more is needed, -EMSGSIZE: too long, -EPROTO with *ret_why otherwise
 * (lasts; what it has: "two Host headers").  Prepares *ret_body, which is one that is done or zeroed at
 * first, and the same when it is called again with the same bytes and more. */
int http1_read_head(const char *data, size_t length, struct http1_request *ret, struct http1 *ret_body,
                    const char **ret_why);

/* How many bytes of data belong to the body: passed on as they are.  When it returns less than length, the
 * body is done and the next head begins there.  -EPROTO: broken chunks. */
long http1_skip_body(struct http1 *body, const char *data, size_t length);
/* Whether the body is done. */
int http1_is_done(const struct http1 *body);
/* Whether bytes look like the begin of a request (an upper-case token), so far. */
int http1_looks_like(const char *data, size_t length);
