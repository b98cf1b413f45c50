/* egress/http1.h -- parses the requests of an HTTP/1 connection, so that each is sent to the server that it
 * names.
 *
 * Strict wherever two parsers could differ, because this is how requests are smuggled: one space between
 * the words of the request line, CRLF line ends, no folded lines, no space before a colon, header names are
 * tokens, no NUL or bare CR, one Host, one Content-Length (digits only), not both that and
 * Transfer-Encoding, which must be "chunked" alone, no HTTP/0.9, only HTTP/1.0 and 1.1, no empty line
 * before a request, no chunk extensions, no trailers.  Everything else is refused. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "egress/policy/name.h"
#include "egress/policy/policy.h"

#define HTTP1_HEAD_MAX 65536u

struct http1_request {
        /* From Host; equal to the host in an absolute request line.  Port 0: not specified. */
        struct destination to;
        uint8_t is_connect;    /* CONNECT name:port: the following data is not HTTP; a body is not allowed */
        uint8_t is_absolute;   /* request to a proxy: the bytes from target_at to path_at are removed, so that
                                  the server sees GET /path */
        uint8_t wants_upgrade; /* the following data may be another protocol if the answer is 101.  Not set
                                  for HTTP/2, where requests must still be followed */
        uint32_t head_length;  /* including the empty line */
        uint32_t target_at, target_length; /* of the request line */
        uint32_t path_at;                  /* start of the path in an absolute target; == target end: "/" */
};

struct http1 {         /* state of the body that follows; initially zeroed */
        uint64_t left; /* remaining bytes of the body or chunk */
        uint8_t chunked, state;
        uint8_t at_head; /* the head is incomplete: `left` is the number of bytes examined, `state` whether
                            its first line was checked */
        uint8_t line_length; /* digits of a chunk size; limited */
};

/* Parses a head.  Returns 1 if it is complete, 0 if more data is needed, -EMSGSIZE if it is too long, or
 * -EPROTO with a static text in *ret_why ("two Host headers").  Initialises *ret_body, which must be zeroed
 * or complete at the first call, and unchanged when the function is called again with the same bytes and
 * more. */
int http1_read_head(const char *data, size_t length, struct http1_request *ret, struct http1 *ret_body,
                    const char **ret_why);

/* Returns the number of bytes of data that belong to the body, which are forwarded unchanged.  If it is
 * less than length, the body is complete and the next head starts there.  -EPROTO: malformed chunks. */
long http1_skip_body(struct http1 *body, const char *data, size_t length);
/* Returns 1 if the body is complete. */
int http1_is_done(const struct http1 *body);
/* Returns 1 if the data so far looks like the start of a request (an upper-case token). */
int http1_looks_like(const char *data, size_t length);
