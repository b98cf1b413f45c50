/* Where the bodies of HTTP/1 requests end, so that what follows is a request for us as for the server. */
#include "egress/http1.h"
#include "test.h"

#define BYTES(text) text, sizeof(text) - 1
#define HEAD "POST / HTTP/1.1\r\nHost: a.b\r\n"

/* How much of it is the body, in pieces of `step`; *ret_done: whether it is done. */
static long skip(const char *head, const char *data, size_t length, size_t step, int *ret_done)
{
        struct http1_request request;
        struct http1 body = {0};
        const char *why;
        size_t at = 0;

        CHECK_INT(http1_read_head(head, strlen(head), &request, &body, &why), 1);
        while (at < length) {
                size_t n = length - at < step ? length - at : step;
                char *copy = malloc(n);
                long r;

                memcpy(copy, data + at, n);
                r = http1_skip_body(&body, copy, n);
                free(copy);
                if (r < 0)
                        return r;
                CHECK((size_t)r <= n);
                at += (size_t)r;
                if ((size_t)r < n) {
                        CHECK(http1_is_done(&body));
                        break;
                }
        }
        *ret_done = http1_is_done(&body);
        return (long)at;
}

static const char chunked[] = HEAD "Transfer-Encoding: chunked\r\n\r\n";

TEST(bodies_end_at_their_length_or_last_chunk)
{
        static const struct {
                const char *head, *data;
                long length;
                int done;
        } cases[] = {
                {HEAD "\r\n", "GET / HTTP/1.1", 0, 1},
                {HEAD "Content-Length: 0\r\n\r\n", "x", 0, 1},
                {HEAD "Content-Length: 5\r\n\r\n", "helloGET / ", 5, 1},
                {HEAD "Content-Length: 5\r\n\r\n", "hello", 5, 1},
                {HEAD "Content-Length: 5\r\n\r\n", "hell", 4, 0},
                {chunked, "0\r\n\r\nGET", 5, 1},
                {chunked, "000\r\n\r\nGET", 7, 1},
                {chunked, "5\r\nhello\r\n0\r\n\r\nGET", 15, 1},
                {chunked, "5\r\nhello\r\n0\r\n\r\n", 15, 1},
                {chunked, "a\r\n0\r\n\r\nGET /\r\n0\r\n\r\nGET", 20, 1}, /* not parsed */
                {chunked, "A\r\n0123456789\r\n0001\r\nx\r\n0\r\n\r\n", 29, 1},
                {chunked, "5\r\nhello\r\n0\r\n\r", 14, 0},
                {chunked, "5\r\nhello\r\n0\r\n", 13, 0},
                {chunked, "5\r\nhello\r\n", 10, 0},
                {chunked, "5\r\nhel", 6, 0},
                {chunked, "5", 1, 0},
                {chunked, "fffffffffffffff\r\nx", 18, 0}, /* 2^60 - 1 */
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                for (size_t step = 1; step <= strlen(cases[i].data); step++) {
                        int done = -1;

                        CHECK_INT(skip(cases[i].head, cases[i].data, strlen(cases[i].data), step, &done),
                                  cases[i].length);
                        CHECK_INT(done, cases[i].done);
                }
}

TEST(chunks_that_are_refused)
{
        static const struct {
                const char *data;
                size_t length;
        } cases[] = {
                {BYTES("\r\n")},
                {BYTES("\r\n5\r\nhello")},
                {BYTES("x\r\n")},
                {BYTES("g\r\n")},
                {BYTES("0x5\r\nhello")},
                {BYTES("+5\r\nhello")},
                {BYTES("-5\r\nhello")},
                {BYTES(" 5\r\nhello")},
                {BYTES("5 \r\nhello")},
                {BYTES("5\t\r\nhello")},
                {BYTES("5\nhello")},
                {BYTES("5\rhello")},
                {BYTES("5\r\r\nhello")},
                {BYTES("5\0\r\nhello")},
                {BYTES("5;\r\nhello")},
                {BYTES("5;a=b\r\nhello")}, /* extensions: not needed, and readers differ in where they
                                              end */
                {BYTES("5;\nGET / HTTP/1.1\r\nhello")},
                {BYTES("5;a=\"\r\n\"\r\nhello")},
                {BYTES("5\r\nhelloX")},
                {BYTES("5\r\nhello0\r\n\r\n")},
                {BYTES("5\r\nhello\n0\r\n\r\n")},
                {BYTES("5\r\nhello\r0\r\n\r\n")},
                {BYTES("5\r\nhello\r\n\r\n")},
                {BYTES("1000000000000000\r\n")},  /* 2^60: 16 digits */
                {BYTES("ffffffffffffffff\r\n")},  /* -1 for some */
                {BYTES("10000000000000005\r\n")}, /* 5, if it wraps */
                {BYTES("0000000000000005\r\nhello")},
                {BYTES("0\r\nX: y\r\n\r\n")}, /* trailers */
                {BYTES("0\r\nTransfer-Encoding: chunked\r\n\r\n")},
                {BYTES("0\r\nGET / HTTP/1.1\r\n")},
                {BYTES("0\r\n\n")},
                {BYTES("0\n\n")},
                {BYTES("0\r\n\rX")},
                {BYTES("0;x\r\n\r\n")},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                for (size_t step = 1; step <= cases[i].length; step++) {
                        int done;
                        long r = skip(chunked, cases[i].data, cases[i].length, step, &done);

                        if (r != -EPROTO)
                                CHECK_STR(cases[i].data, "refused");
                }
}

TEST(a_connection_of_several_requests)
{
        static const char all[] = "POST /1 HTTP/1.1\r\nHost: a.b\r\nContent-Length: 33\r\n\r\n"
                                  "GET / HTTP/1.1\r\nHost: no.no\r\n\r\nx!"
                                  "POST /2 HTTP/1.1\r\nHost: c.d\r\nTransfer-Encoding: chunked\r\n\r\n"
                                  "3\r\nabc\r\n0\r\n\r\n"
                                  "GET /3 HTTP/1.1\r\nHost: e.f:81\r\n\r\n";
        static const char *const hosts[] = {"a.b", "c.d", "e.f"};
        size_t length = sizeof(all) - 1;

        for (size_t step = 1; step <= length; step++) {
                size_t have = 0, at = 0, n = 0;
                struct http1 body = {0};
                struct http1_request request;
                const char *why;

                while (at < length) {
                        long r;

                        have = have + step < length ? have + step : length;
                        while (at < have) {
                                if (http1_is_done(&body)) {
                                        int got = http1_read_head(all + at, have - at, &request, &body, &why);

                                        CHECK(got >= 0);
                                        if (got <= 0)
                                                break;
                                        CHECK(n < 3);
                                        CHECK_STR(request.to.name, hosts[n++ % 3]);
                                        at += request.head_length;
                                }
                                r = http1_skip_body(&body, all + at, have - at);
                                CHECK(r >= 0);
                                at += (size_t)r;
                        }
                }
                CHECK_INT(n, 3);
        }
}
