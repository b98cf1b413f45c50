/* test/unit/http.c -- the HTTP server, from the other end of real sockets: requests. */
#include "http_fixture.h"

TEST(answers_a_request)
{
        struct answer answer = ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 200);
        CHECK_STR(answer.body, "hello");
        CHECK(strstr(answer.head, "Content-Type: text/plain\r\n") != NULL);
        WAIT_FOR(seen.done == 1);
        CHECK_INT(seen.last_status, 200);
        CHECK_INT(http_server_requests(server), 0);
}

TEST(reports_the_addresses_of_clients)
{
        ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK(!seen.last_local);
        CHECK(strncmp(seen.last_address, "127.0.0.1:", 10) == 0);

        AUTO(reader_done) struct reader reader = {.fd = dial_unix()};
        put(reader.fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(get_answer(&reader).status, 200);
        CHECK(seen.last_local);
        CHECK_INT(seen.last_uid, getuid());
}

TEST(keeps_connections_alive)
{
        struct reader reader = {.fd = dial()};
        for (int i = 0; i < 100; i++) {
                put(reader.fd, i % 2 ? "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
                                     : "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
                struct answer answer = get_answer(&reader);
                CHECK_INT(answer.status, 200);
                CHECK_STR(answer.body, i % 2 ? "hello" : "abc");
                CHECK(!answer.close);
        }
        CHECK_INT(http_server_connections(server), 1);
        reader_done(&reader);
        WAIT_FOR(http_server_connections(server) == 0);
}

TEST(answers_later)
{
        AUTO(reader_done) struct reader reader = {.fd = dial()};
        for (int i = 0; i < 50; i++) {
                put(reader.fd, i % 2 ? "GET /later?ms=1 HTTP/1.1\r\nHost: x\r\n\r\n"
                                     : "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
                CHECK_ANSWER(get_answer(&reader), 200, i % 2 ? "" : "abc");
        }
        CHECK_INT(http_server_connections(server), 1);
        CHECK_INT(seen.gone, 0);
}

TEST(reports_that_a_client_left)
{
        for (int i = 0; i < 4; i++) {
                int fd = i % 2 ? dial_unix() : dial();
                struct linger reset = {.l_onoff = 1};
                int64_t start_us;

                put(fd, "GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
                WAIT_FOR(seen.request != NULL);
                CHECK_INT(http_server_requests(server), 1);
                if (i >= 2)
                        setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
                close(fd);
                start_us = clock_us();
                WAIT_FOR(seen.gone == (unsigned)i + 1);
                CHECK(clock_us() - start_us < 100000);
                WAIT_FOR(http_server_connections(server) == 0);
                CHECK_INT(seen.done, i + 1);
                CHECK_INT(seen.last_status, 0);
        }
}

TEST(answers_pipelined_requests_in_order)
{
        AUTO(reader_done) struct reader reader = {.fd = dial()};
        put(reader.fd, "POST /later?ms=20 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nfirst"
                       "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
                       "GET /later?ms=1 HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
                       "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
        CHECK_STR(get_answer(&reader).body, "first");
        CHECK_STR(get_answer(&reader).body, "hello");
        CHECK_INT(get_answer(&reader).status, 200);
        CHECK_INT(get_answer(&reader).status, 404);
        CHECK_STR(get_answer(&reader).body, "abcde");
        CHECK_INT(seen.gone, 0);
}

TEST(decodes_paths_by_segment)
{
        static const struct {
                const char *path;
                int status;
                const char *body;
        } table[] = {
                {"/items/a/parts/b", 200, "a|b"},
                {"/items/a%2Fb/parts/c%20d", 200, "a/b|c d"},
                {"/items/%41/parts/%7e", 200, "A|~"},
                {"/%69tems/a/parts/b", 200, "a|b"},
                {"/items/a+b/parts/c", 200, "a+b|c"},
                {"/items/../parts/c", 200, "..|c"},
                {"/items/%e4%bd%a0/parts/c", 200, "\xe4\xbd\xa0|c"},
                {"/items/a/parts/b?x=%zz", 400, NULL},
                {"/items/%00/parts/b", 400, NULL},
                {"/items/%/parts/b", 400, NULL},
                {"/items/%4/parts/b", 400, NULL},
                {"/items/%4g/parts/b", 400, NULL},
                {"/items//parts/b", 404, NULL},
                {"/items/a/parts/b/", 404, NULL},
                {"/items/a/parts", 404, NULL},
                {"//hello", 404, NULL},
                {"/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w", 404, NULL},
                {"/hello", 200, "hello"},
                {"/", 200, "hello"},
                {"http://x/hello", 200, "hello"},
                {"http://x", 200, "hello"},
                {"*", 404, NULL},
                {"/literal/special", 200, "special"},
                {"/literal/other", 200, "other|"},
                {"/literal/special/more", 200, "special|"},
                {"/query?a=1&b=%26&c&=d&&e=f+g%2B", 200, "a=1;b=&;c=;=d;e=f g+;"},
                {"/query?a=1&a=2", 200, "a=1;a=2;"},
                {"/query", 200, ""},
                {"/query?a=%00", 400, NULL},
                {"/query?%zz=a", 400, NULL},
        };

        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                struct answer answer = ask("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", table[i].path);

                CHECK_INT(answer.status, table[i].status);
                if (table[i].body != NULL)
                        CHECK_STR(answer.body, table[i].body);
                if (answer.status != table[i].status)
                        printf("     path %s\n", table[i].path);
        }
}

TEST(refuses_too_many_query_parameters)
{
        char path[2000] = "/query?";

        for (int i = 0; i < 33; i++)
                strcat(path, "a=b&");
        CHECK_INT(ask("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path).status, 400);
}

TEST(names_the_methods_a_path_takes)
{
        struct answer answer = ask("DELETE /echo HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 405);
        CHECK(strstr(answer.head, "Allow: POST, PUT\r\n") != NULL);
        CHECK(!answer.close);
        answer = ask("OPTIONS /literal/x HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 405);
        CHECK(strstr(answer.head, "Allow: GET, HEAD, DELETE\r\n") != NULL);
        CHECK_INT(ask("BREW /literal/special HTTP/1.1\r\nHost: x\r\n\r\n").status, 405);
        answer = ask("DELETE /literal/special HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 200); /* by {any} */
}

TEST(takes_head_for_get_without_the_body)
{
        AUTO(reader_done) struct reader reader = {.fd = dial()};
        put(reader.fd, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        while (reader.len == 0 || strstr(reader.data, "\r\n\r\n") == NULL)
                if (!fill(&reader, PATIENCE))
                        break;
        CHECK(reader.data != NULL && strncmp(reader.data, "HTTP/1.1 200", 12) == 0);
        CHECK(strcasestr(reader.data, "Content-Length: 5\r\n") != NULL);
        turn(20);
        CHECK(strcmp(reader.data + reader.len - 4, "\r\n\r\n") == 0);
        reader.len = 0;
        /* The same for a stream: the writer must not notice that HEAD was requested. */
        put(reader.fd, "HEAD /fixed?n=1000 HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        http_stream_write(seen.request, "abc", 3);
        turn(5);
        http_stream_write(seen.request, "abc", 3);
        http_stream_end(seen.request);
        while (reader.len == 0 || strstr(reader.data, "\r\n\r\n") == NULL)
                if (!fill(&reader, PATIENCE))
                        break;
        CHECK(strncmp(reader.data, "HTTP/1.1 200", 12) == 0);
        reader.len = 0;
        put(reader.fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_ANSWER(get_answer(&reader), 200, "hello");
}

TEST(serves_http_1_0)
{
        struct reader reader = {.fd = dial()};
        put(reader.fd, "GET /hello HTTP/1.0\r\n\r\n");
        CHECK_INT(get_answer(&reader).status, 200);
        CHECK(ended(&reader));
        reader_done(&reader);
        /* A stream of unknown length ends with the connection there. */
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "GET /stream HTTP/1.0\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        http_stream_write(seen.request, "12345", 5);
        turn(5);
        http_stream_write(seen.request, "6789", 4);
        http_stream_end(seen.request);
        CHECK(ended(&reader));
        CHECK(reader.len > 9 && strcmp(reader.data + reader.len - 9, "123456789") == 0);
        CHECK_INT(seen.gone, 0);
        reader_done(&reader);
}

TEST(refuses_input_that_is_not_http)
{
        static const struct {
                const char *text;
                int status;
        } table[] = {
                {"GET /hello HTTP/1.1\r\n\r\n", 400}, /* no Host */
                {"GET /hello HTTP/1.1\r\nHost x\r\n\r\n", 400},
                {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n", 400},
                {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
                {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400},
                {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"
                 "0\r\n\r\n",
                 400},
                {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 400},
                {"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
                {"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", 413},
        };

        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                struct answer answer = ask("%s", table[i].text);

                CHECK_INT(answer.status, table[i].status);
                CHECK(answer.close);
                if (answer.status != table[i].status)
                        printf("     text %s\n", table[i].text);
        }
        CHECK_INT(seen.requests, 0);
        WAIT_FOR(http_server_connections(server) == 0);
        CHECK_INT(http_server_requests(server), 0);
}

/* Sends the bytes and a good request behind them: how many answers come, and is the connection closed? */
static struct answer ask_raw(const char *data, size_t len, unsigned *ret_answers)
{
        static const char next[] = "GET /hello?second HTTP/1.1\r\nHost: x\r\n\r\n";
        struct reader reader = {.fd = dial()};
        struct answer first = {0};
        CHECK_INT(send(reader.fd, data, len, MSG_NOSIGNAL), (ssize_t)len);
        CHECK_INT(send(reader.fd, next, sizeof next - 1, MSG_NOSIGNAL), sizeof next - 1);
        first = get_answer(&reader);
        *ret_answers = 1;
        if (!first.close) {
                struct answer second = get_answer(&reader);
                *ret_answers += second.status > 0;
        }
        reader_done(&reader);
        return first;
}

TEST(refuses_heads_that_two_parsers_could_read_differently)
{
#define RAW(text) text, sizeof(text) - 1
        static const struct {
                const char *data;
                size_t len;
        } table[] = {
                {RAW("GET /hello HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost : x\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\r\nX-Some : y\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\r\nX-Some\t: y\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\nHost: x\n\n")},
                {RAW("GET /hello HTTP/1.1\nHost: x\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\nX-Some: y\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\r\n\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\rX-Some: y\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\r\nX-Some: y\r\n folded\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\n X-Some: y\r\nHost: x\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\r\n: nameless\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\r\nX Some: y\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\r\nX(Some): y\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\r\nX-Some: a\x01z\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\r\nX-Some: a\0z\r\n\r\n")},
                {RAW("GET /hello HTTP/1.1\r\nHost: x\r\nX-Some\0: y\r\n\r\n")},
                {RAW("GET /hello?a\0z HTTP/1.1\r\nHost: x\r\n\r\n")},
                {RAW("GET http://other/hello HTTP/1.1\r\nHost: x\r\n\r\n")},
                {RAW("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc")},
                {RAW("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3, 3\r\n\r\nabc")},
                {RAW("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: +3\r\n\r\nabc")},
                {RAW("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc")},
                {RAW("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: "
                     "chunked\r\n\r\n0\r\n\r\n")},
                {RAW("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n")},
                {RAW("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\n chunked\r\n\r\n0\r\n\r\n")},
                {RAW("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
                     "chunked\r\n\r\n0\r\n\r\n")},
                {RAW("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")},
                {RAW("POST /echo HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
        };

        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                unsigned answers = 0;
                struct answer answer = ask_raw(table[i].data, table[i].len, &answers);

                CHECK_INT(answer.status, 400);
                CHECK(answer.close);
                CHECK_INT(answers, 1);
                if (answer.status != 400 || !answer.close)
                        printf("     case %zu: %s\n", i, table[i].data);
        }
        CHECK_INT(seen.requests, 0);
        WAIT_FOR(http_server_connections(server) == 0);
        CHECK_INT(http_server_requests(server), 0);
}

/* libmicrohttpd 0.9 accepts a bare LF between chunks: so nothing is read behind such a body. */
TEST(reads_no_request_behind_a_chunked_body)
{
        static const char *const bodies[] = {"3\r\nabc\r\n0\r\n\r\n", "3\nabc\n0\n\n",
                                             "3;x=1\r\nabc\r\n0\r\n\r\n"};

        for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
                char text[512];
                unsigned answers = 0;
                int len = snprintf(text, sizeof(text),
                                   "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%s",
                                   bodies[i]);
                struct answer answer = ask_raw(text, (size_t)len, &answers);

                CHECK(answer.status == 400 || (answer.status == 200 && strcmp(answer.body, "abc") == 0));
                CHECK(answer.close);
                CHECK_INT(answers, 1);
        }
}

/* Empty values, blanks around values, unusual but valid names, many requests on one connection. */
TEST(takes_heads_that_are_unusual_but_clear)
{
        AUTO(reader_done) struct reader reader = {.fd = dial()};
        put(reader.fd,
            "\r\nGET /hello HTTP/1.1\r\nHost:x\r\nEmpty:\r\nBlank: \t \r\nX!#$%&'*+-.^_`|~9:  a b\t \r\n\r\n"
            "GET /hello?a=b&c HTTP/1.1\r\nHost: x\r\nX-Text: caf\xc3\xa9: \"x\"\r\n\r\n"
            "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        for (int i = 0; i < 3; i++) {
                CHECK_ANSWER(get_answer(&reader), 200, "hello");
        }
}

TEST(bounds_headers)
{
        char line[1100];

        memset(line, 'a', sizeof(line));
        memcpy(line, "X-Long: ", 8);
        memcpy(line + sizeof(line) - 3, "\r\n", 3);
        struct reader reader = {.fd = dial()};
        put(reader.fd, "GET /hello HTTP/1.1\r\nHost: x\r\n");
        for (int i = 0; i < 100; i++)
                if (!put(reader.fd, line))
                        break;
        CHECK_INT(get_answer(&reader).status, 431);
        reader_done(&reader);

        reader = (struct reader){.fd = dial()};
        put(reader.fd, "GET /");
        for (int i = 0; i < 100; i++)
                if (!put_bytes(reader.fd, line, 1000))
                        break;
        CHECK_INT(get_answer(&reader).status, 414);
        reader_done(&reader);
}

TEST(lets_the_owner_refuse_by_headers)
{
        AUTO(reader_done) struct reader reader = {.fd = dial()};
        put(reader.fd, "GET /hello HTTP/1.1\r\nHost: x\r\nX-Refuse: 1\r\n\r\n");
        struct answer answer = get_answer(&reader);
        CHECK_INT(answer.status, 401);
        CHECK(!answer.close);
        put(reader.fd, "POST /echo HTTP/1.1\r\nHost: x\r\nX-Refuse: 1\r\nContent-Length: 10000\r\n\r\n");
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 401);
        CHECK(answer.close);
        CHECK_INT(seen.requests, 0);
        CHECK_INT(seen.done, 2);
}
