/* test/unit/http.c -- the HTTP server, from the other end of real sockets. */
#include "http/internal.h"
#include "http/sha1.h"

#include "http_fixture.h"

TEST(answers_a_request)
{
        struct answer answer;

        start();
        answer = ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 200);
        CHECK_STR(answer.body, "hello");
        CHECK(strstr(answer.head, "Content-Type: text/plain\r\n") != NULL);
        answer_done(&answer);
        WAIT_FOR(seen.done == 1);
        CHECK_INT(seen.last_status, 200);
        CHECK_INT(http_server_requests(server), 0);
        stop();
}

TEST(knows_its_peers)
{
        struct reader reader;
        struct answer answer;

        start();
        answer = ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK(!seen.last_local);
        CHECK(strncmp(seen.last_address, "127.0.0.1:", 10) == 0);
        answer_done(&answer);

        reader = (struct reader){.fd = dial_unix()};
        put(reader.fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 200);
        CHECK(seen.last_local);
        CHECK_INT(seen.last_uid, getuid());
        answer_done(&answer);
        reader_done(&reader);
        stop();
}

TEST(keeps_connections_alive)
{
        struct reader reader;

        start();
        reader = (struct reader){.fd = dial()};
        for (int i = 0; i < 100; i++) {
                struct answer answer;

                put(reader.fd, i % 2 ? "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
                                     : "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
                answer = get_answer(&reader);
                CHECK_INT(answer.status, 200);
                CHECK_STR(answer.body, i % 2 ? "hello" : "abc");
                CHECK(!answer.close);
                answer_done(&answer);
        }
        CHECK_INT(http_server_connections(server), 1);
        reader_done(&reader);
        WAIT_FOR(http_server_connections(server) == 0);
        stop();
}

TEST(answers_later)
{
        struct reader reader;

        start();
        reader = (struct reader){.fd = dial()};
        for (int i = 0; i < 50; i++) {
                struct answer answer;

                put(reader.fd, i % 2 ? "GET /later?ms=1 HTTP/1.1\r\nHost: x\r\n\r\n"
                                     : "POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc");
                answer = get_answer(&reader);
                CHECK_INT(answer.status, 200);
                CHECK_STR(answer.body, i % 2 ? "" : "abc");
                answer_done(&answer);
        }
        CHECK_INT(http_server_connections(server), 1);
        CHECK_INT(seen.gone, 0);
        reader_done(&reader);
        stop();
}

TEST(tells_when_a_client_left)
{
        start();
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
        stop();
}

/* ---- requests ---- */

TEST(answers_pipelined_requests_in_order)
{
        struct reader reader;
        struct answer answer;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "POST /later?ms=20 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nfirst"
                       "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"
                       "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                       "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
                       "GET /later?ms=1 HTTP/1.1\r\nHost: x\r\n\r\nGET /nothing HTTP/1.1\r\nHost: x\r\n\r\n");
        answer = get_answer(&reader);
        CHECK_STR(answer.body, "first");
        answer_done(&answer);
        answer = get_answer(&reader);
        CHECK_STR(answer.body, "hello");
        answer_done(&answer);
        answer = get_answer(&reader);
        CHECK_STR(answer.body, "abcde");
        answer_done(&answer);
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 200);
        answer_done(&answer);
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 404);
        answer_done(&answer);
        CHECK_INT(seen.gone, 0);
        reader_done(&reader);
        stop();
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

        start();
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                struct answer answer = ask("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", table[i].path);

                CHECK_INT(answer.status, table[i].status);
                if (table[i].body != NULL)
                        CHECK_STR(answer.body, table[i].body);
                if (answer.status != table[i].status)
                        printf("     path %s\n", table[i].path);
                answer_done(&answer);
        }
        stop();
}

TEST(refuses_too_many_query_parameters)
{
        char path[2000] = "/query?";
        struct answer answer;

        start();
        for (int i = 0; i < 33; i++)
                strcat(path, "a=b&");
        answer = ask("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
        CHECK_INT(answer.status, 400);
        answer_done(&answer);
        stop();
}

TEST(names_the_methods_a_path_takes)
{
        struct answer answer;

        start();
        answer = ask("DELETE /echo HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 405);
        CHECK(strstr(answer.head, "Allow: POST, PUT\r\n") != NULL);
        CHECK(!answer.close);
        answer_done(&answer);
        answer = ask("OPTIONS /literal/x HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 405);
        CHECK(strstr(answer.head, "Allow: GET, HEAD, DELETE\r\n") != NULL);
        answer_done(&answer);
        answer = ask("BREW /literal/special HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 405);
        answer_done(&answer);
        answer = ask("DELETE /literal/special HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 200); /* by {any} */
        answer_done(&answer);
        stop();
}

TEST(takes_head_for_get_without_the_body)
{
        struct reader reader;
        struct answer answer;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        while (reader.len == 0 || strstr(reader.data, "\r\n\r\n") == NULL)
                if (!fill(&reader, 3000))
                        break;
        CHECK(reader.data != NULL && strncmp(reader.data, "HTTP/1.1 200", 12) == 0);
        CHECK(strcasestr(reader.data, "Content-Length: 5\r\n") != NULL);
        turn(20);
        CHECK(strcmp(reader.data + reader.len - 4, "\r\n\r\n") == 0);
        reader.len = 0;
        /* A stream, too: its writer must not notice. */
        put(reader.fd, "HEAD /fixed?n=1000 HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        http_stream_write(seen.request, "abc", 3);
        turn(5);
        http_stream_write(seen.request, "abc", 3);
        http_stream_end(seen.request);
        while (reader.len == 0 || strstr(reader.data, "\r\n\r\n") == NULL)
                if (!fill(&reader, 3000))
                        break;
        CHECK(strncmp(reader.data, "HTTP/1.1 200", 12) == 0);
        reader.len = 0;
        put(reader.fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 200);
        CHECK_STR(answer.body, "hello");
        answer_done(&answer);
        reader_done(&reader);
        stop();
}

TEST(serves_http_1_0)
{
        struct reader reader;
        struct answer answer;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "GET /hello HTTP/1.0\r\n\r\n");
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 200);
        answer_done(&answer);
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
        stop();
}

TEST(refuses_what_is_not_http)
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

        start();
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                struct answer answer = ask("%s", table[i].text);

                CHECK_INT(answer.status, table[i].status);
                CHECK(answer.close);
                if (answer.status != table[i].status)
                        printf("     text %s\n", table[i].text);
                answer_done(&answer);
        }
        CHECK_INT(seen.requests, 0);
        WAIT_FOR(http_server_connections(server) == 0);
        CHECK_INT(http_server_requests(server), 0);
        stop();
}

TEST(bounds_headers)
{
        struct reader reader;
        struct answer answer;
        char line[1100];

        start();
        memset(line, 'a', sizeof(line));
        memcpy(line, "X-Long: ", 8);
        memcpy(line + sizeof(line) - 3, "\r\n", 3);
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "GET /hello HTTP/1.1\r\nHost: x\r\n");
        for (int i = 0; i < 100; i++)
                if (!put(reader.fd, line))
                        break;
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 431);
        answer_done(&answer);
        reader_done(&reader);

        reader = (struct reader){.fd = dial()};
        put(reader.fd, "GET /");
        for (int i = 0; i < 100; i++)
                if (!put_bytes(reader.fd, line, 1000))
                        break;
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 414);
        answer_done(&answer);
        reader_done(&reader);
        stop();
}

TEST(lets_the_owner_refuse_by_headers)
{
        struct reader reader;
        struct answer answer;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "GET /hello HTTP/1.1\r\nHost: x\r\nX-Refuse: 1\r\n\r\n");
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 401);
        CHECK(!answer.close);
        answer_done(&answer);
        put(reader.fd, "POST /echo HTTP/1.1\r\nHost: x\r\nX-Refuse: 1\r\nContent-Length: 10000\r\n\r\n");
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 401);
        CHECK(answer.close);
        answer_done(&answer);
        CHECK_INT(seen.requests, 0);
        CHECK_INT(seen.done, 2);
        reader_done(&reader);
        stop();
}

/* ---- bodies ---- */

TEST(refuses_a_body_by_its_length_at_once)
{
        struct reader reader;
        struct answer answer;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n");
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 413);
        CHECK(answer.close);
        CHECK_INT(seen.last_error, 413);
        answer_done(&answer);
        CHECK(ended(&reader));
        reader_done(&reader);
        answer = ask("GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx");
        CHECK_INT(answer.status, 413);
        answer_done(&answer);
        CHECK_INT(seen.requests, 0);
        stop();
}

TEST(lets_a_client_that_sends_blindly_see_the_413)
{
        static char block[64 * 1024];
        struct reader reader;
        struct answer answer;
        size_t sent = 0;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n");
        while (sent < 512 * 1024 && put_bytes(reader.fd, block, sizeof(block)))
                sent += sizeof(block);
        CHECK_INT(sent, 512 * 1024);
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 413);
        answer_done(&answer);
        while (sent < (1u << 30) && put_bytes(reader.fd, block, sizeof(block)))
                sent += sizeof(block);
        CHECK(sent < 16u << 20); /* it was hung up on */
        reader_done(&reader);
        stop();
}

TEST(refuses_a_body_by_its_count)
{
        struct reader reader;
        struct answer answer;
        char chunk[1100];

        start();
        for (int i = 0; i < 2; i++) {
                reader = (struct reader){.fd = i ? dial_unix() : dial()};
                put(reader.fd, "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
                memset(chunk, 'c', sizeof(chunk));
                memcpy(chunk, "3e8\r\n", 5);
                memcpy(chunk + 5 + 1000, "\r\n", 3);
                for (int n = 0; n < 150; n++)
                        if (!put(reader.fd, chunk))
                                break;
                answer = get_answer(&reader);
                CHECK_INT(answer.status, 413);
                CHECK(answer.close);
                CHECK_STR(answer.body, "the body is too large");
                answer_done(&answer);
                CHECK(ended(&reader));
                reader_done(&reader);
        }
        CHECK_INT(seen.requests, 0);
        WAIT_FOR(http_server_connections(server) == 0);
        CHECK_INT(seen.done, 2);
        stop();
}

TEST(answers_expectations)
{
        struct reader reader;
        struct answer answer;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 100);
        answer_done(&answer);
        put(reader.fd, "abc");
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 200);
        CHECK_STR(answer.body, "abc");
        answer_done(&answer);
        put(reader.fd,
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\nExpect: 100-continue\r\n\r\n");
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 413);
        answer_done(&answer);
        reader_done(&reader);
        stop();
}

TEST(takes_a_body_of_just_the_maximum)
{
        struct reader reader;
        struct answer answer;
        char *body = malloc(100000);

        start();
        memset(body, 'm', 100000);
        reader = (struct reader){.fd = dial()};
        for (int i = 0; i < 2; i++) {
                put(reader.fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
                put_bytes(reader.fd, body, 100000);
                answer = get_answer(&reader);
                CHECK_INT(answer.status, 200);
                CHECK_INT(answer.len, 100000);
                answer_done(&answer);
        }
        reader_done(&reader);
        free(body);
        stop();
}

TEST(survives_half_sent_requests)
{
        static const char *const parts[] = {
                "G",
                "GET /hello HTTP/1.1",
                "GET /hello HTTP/1.1\r\nHost: x\r\nX-",
                "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
                "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab",
                "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
                "PUT /slow-upload HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
        };

        start();
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
                int fd = dial();

                put(fd, parts[i]);
                turn(5);
                CHECK_INT(http_server_connections(server), 1);
                close(fd);
                WAIT_FOR(http_server_connections(server) == 0);
                CHECK_INT(http_server_requests(server), 0);
        }
        CHECK_INT(seen.gone, 2);
        stop();
}

TEST(streams_bodies_in)
{
        static char block[100000];
        struct reader reader;
        struct answer answer;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n");
        for (int i = 0; i < 100; i++)
                put_bytes(reader.fd, block, sizeof(block));
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 201);
        CHECK_STR(answer.body, "10000000");
        CHECK(!answer.close);
        answer_done(&answer);
        seen.body_bytes = 0;
        put(reader.fd, "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 201);
        CHECK_STR(answer.body, "0");
        answer_done(&answer);
        CHECK_INT(seen.body_ends, 2);
        reader_done(&reader);
        stop();
}

TEST(holds_back_a_body_that_nobody_takes)
{
        static char block[65536];
        struct reader reader;
        struct answer answer;
        size_t sent = 0, held;
        int64_t until;

        start();
        seen.take = 100;
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n");
        until = clock_us() + 300000;
        while (clock_us() < until) {
                ssize_t n = send(reader.fd, block, sizeof(block), MSG_DONTWAIT | MSG_NOSIGNAL);

                sent += n > 0 ? (size_t)n : 0;
                uv_run(&loop, UV_RUN_NOWAIT);
        }
        CHECK_INT(seen.body_bytes, 100); /* and then it was not asked again */
        CHECK(sent < 20000000);
        for (int i = 0; i < 10; i++) {
                held = seen.body_bytes;
                http_body_resume(seen.request);
                turn(2);
                CHECK_INT(seen.body_bytes, held + 100);
        }
        seen.take = -1;
        http_body_resume(seen.request);
        while (sent < 60000000) {
                size_t n = 60000000 - sent < sizeof(block) ? 60000000 - sent : sizeof(block);

                if (!put_bytes(reader.fd, block, n))
                        break;
                sent += n;
        }
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 201);
        CHECK_STR(answer.body, "60000000");
        answer_done(&answer);
        reader_done(&reader);
        stop();
}

TEST(tells_when_an_uploading_client_left)
{
        start();
        for (int i = 0; i < 2; i++) {
                int fd = dial();

                seen.take = 1;
                put(fd, i ? "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabcdefgh"
                          : "PUT /slow-upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabcdefgh");
                WAIT_FOR(seen.request != NULL);
                turn(5);
                close(fd);
                WAIT_FOR(seen.gone == (unsigned)i + 1);
                WAIT_FOR(http_server_connections(server) == 0);
        }
        stop();
}

TEST(asks_for_a_body_when_the_handler_does)
{
        struct reader reader;
        struct answer answer;

        start();
        reader = (struct reader){.fd = dial()};
        for (int i = 0; i < 3; i++) {
                seen.body_bytes = 0;
                put(reader.fd, i == 2 ? "PUT /slow-upload HTTP/1.1\r\nHost: x\r\n\r\n"
                                      : "PUT /slow-upload HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                                        "Expect: 100-continue\r\n\r\n");
                WAIT_FOR(seen.request != NULL);
                turn(10);
                CHECK(recv(reader.fd, &answer, 1, MSG_DONTWAIT | MSG_PEEK) < 0); /* no 100 yet */
                http_body_read(seen.request, take_body, NULL);
                if (i < 2) {
                        answer = get_answer(&reader);
                        CHECK_INT(answer.status, 100);
                        answer_done(&answer);
                        put(reader.fd, "abc");
                }
                answer = get_answer(&reader);
                CHECK_INT(answer.status, 201);
                CHECK_STR(answer.body, i < 2 ? "3" : "0");
                CHECK(!answer.close);
                answer_done(&answer);
                turn(2);
        }
        reader_done(&reader);
        stop();
}

TEST(answers_in_the_middle_of_a_body)
{
        struct answer answer;
        struct reader reader;

        start();
        for (int i = 0; i < 3; i++) {
                reader = (struct reader){.fd = dial()};
                seen.take = i == 1 ? 1 : -1;
                put(reader.fd,
                    i == 0 ? "PUT /slow-upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc"
                           : "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc");
                WAIT_FOR(seen.request != NULL); /* held at headers; held in the body; waits for the client */
                turn(5);
                http_reply(seen.request, 507, "text/plain", "full", 4);
                answer = get_answer(&reader);
                CHECK_INT(answer.status, 507);
                CHECK_STR(answer.body, "full");
                CHECK(answer.close);
                answer_done(&answer);
                CHECK(ended(&reader));
                reader_done(&reader);
                WAIT_FOR(http_server_connections(server) == 0);
                CHECK_INT(seen.done, i + 1);
                CHECK_INT(seen.last_status, 507);
                seen.request = NULL;
        }
        CHECK_INT(seen.gone, 0);
        stop();
}

/* ---- answers ---- */

TEST(sends_large_answers)
{
        struct answer answer;

        start();
        answer = ask("GET /big?n=5000000 HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 200);
        CHECK_INT(answer.len, 5000000);
        answer_done(&answer);
        stop();
}

TEST(answers_without_on_gone)
{
        struct reader reader;
        struct answer answer;
        int fd;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "GET /silent HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        http_reply(seen.request, 200, NULL, NULL, 0);
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 200);
        answer_done(&answer);
        reader_done(&reader);
        /* And to a client that left. */
        seen.request = NULL;
        fd = dial();
        put(fd, "GET /silent HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        close(fd);
        turn(20);
        http_reply(seen.request, 200, "text/plain", "nobody", 6);
        WAIT_FOR(seen.done == 2);
        WAIT_FOR(http_server_connections(server) == 0);
        stop();
}

TEST(takes_a_half_closed_client_for_gone)
{
        struct reader reader;
        struct answer answer;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        shutdown(reader.fd, SHUT_WR);
        WAIT_FOR(seen.gone == 1);
        CHECK(ended(&reader));
        reader_done(&reader);
        /* But what can be answered at once is. */
        reader = (struct reader){.fd = dial()};
        send(reader.fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 32, 0);
        shutdown(reader.fd, SHUT_WR);
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 200);
        answer_done(&answer);
        CHECK(ended(&reader));
        reader_done(&reader);
        /* One that was gone before its request was read. */
        seen.gone = 0;
        reader = (struct reader){.fd = dial()};
        send(reader.fd, "GET /never HTTP/1.1\r\nHost: x\r\n\r\n", 32, 0);
        close(reader.fd);
        WAIT_FOR(seen.gone == 1);
        WAIT_FOR(http_server_connections(server) == 0);
        stop();
}

TEST(is_not_confused_by_a_next_request_while_one_waits)
{
        struct reader reader;
        struct answer answer;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        put(reader.fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        turn(30);
        CHECK_INT(seen.gone, 0);
        CHECK_INT(seen.requests, 1);
        http_reply(seen.request, 200, "text/plain", "one", 3);
        answer = get_answer(&reader);
        CHECK_STR(answer.body, "one");
        answer_done(&answer);
        answer = get_answer(&reader);
        CHECK_STR(answer.body, "hello");
        answer_done(&answer);
        /* The same, and it leaves. */
        seen.request = NULL;
        put(reader.fd, "GET /never HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        close(reader.fd);
        reader.fd = -1;
        WAIT_FOR(seen.gone == 1);
        WAIT_FOR(http_server_connections(server) == 0);
        CHECK_INT(seen.requests, 3);
        reader_done(&reader);
        stop();
}

TEST(sets_on_gone_late)
{
        int fd;

        start();
        fd = dial();
        put(fd, "GET /silent HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        close(fd);
        turn(20);
        CHECK_INT(seen.gone, 0);
        http_on_gone(seen.request, on_gone, NULL);
        CHECK_INT(seen.gone, 0); /* not from within the call */
        WAIT_FOR(seen.gone == 1);
        WAIT_FOR(http_server_connections(server) == 0);
        stop();
}

/* ---- streams ---- */

/* Under valgrind nothing is quick. */
static bool machine_is_slow(void)
{
        int64_t before = clock_us();

        for (volatile int i = 0; i < 1000000; i++)
                ;
        return clock_us() - before > 10000;
}

static void check_event_latency(int fd)
{
        struct reader reader = {.fd = fd};
        int64_t all = 0;

        put(reader.fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        while (reader.len == 0 || strstr(reader.data, "\r\n\r\n") == NULL)
                if (!fill(&reader, 1000))
                        break;
        CHECK(reader.len > 0); /* the headers do not wait for the first event */
        for (int i = 0; i < 100; i++) {
                int64_t before = clock_us();
                size_t len = reader.len;

                http_stream_write(seen.request, "data: x\n\n", 9);
                while (reader.len == len && fill(&reader, 1000))
                        ;
                all += clock_us() - before;
        }
        CHECK(all / 100 < 300 || machine_is_slow());
        http_stream_end(seen.request);
        seen.request = NULL;
        while (strcmp(reader.data + reader.len - 5, "0\r\n\r\n") != 0)
                if (!fill(&reader, 1000))
                        break;
        CHECK(strcmp(reader.data + reader.len - 5, "0\r\n\r\n") == 0);
        reader_done(&reader);
}

TEST(sends_events_at_once)
{
        start();
        check_event_latency(dial());
        check_event_latency(dial_unix());
        CHECK_INT(seen.gone, 0);
        stop();
}

TEST(bounds_what_a_slow_reader_holds)
{
        static char block[32768];
        struct reader reader;
        struct answer answer;
        size_t written = 0;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        for (int i = 0; i < 1000 && http_stream_room(seen.request) > 0; i++) {
                size_t room = http_stream_room(seen.request);

                CHECK(room <= HTTP_STREAM_MAX);
                http_stream_write(seen.request, block, room < sizeof(block) ? room : sizeof(block));
                written += room < sizeof(block) ? room : sizeof(block);
                turn(1);
        }
        CHECK_INT(http_stream_room(seen.request), 0);
        CHECK(written < 16000000);
        seen.rooms = 0;
        /* Now it reads. */
        while (seen.rooms == 0 && fill(&reader, 2000))
                ;
        CHECK_INT(seen.rooms, 1);
        CHECK(http_stream_room(seen.request) >= HTTP_STREAM_MAX / 2);
        http_stream_end(seen.request);
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 200);
        CHECK_INT(answer.len, written);
        answer_done(&answer);
        reader_done(&reader);
        stop();
}

TEST(streams_a_known_length)
{
        static char block[50000];
        static const uint64_t lengths[] = {0, 1, 49999, 50000, 200000};
        struct reader reader;

        start();
        reader = (struct reader){.fd = dial()};
        for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
                struct answer answer;
                char text[100];
                uint64_t left = lengths[i];

                sprintf(text, "GET /fixed?n=%llu HTTP/1.1\r\nHost: x\r\n\r\n", (unsigned long long)left);
                put(reader.fd, text);
                WAIT_FOR(seen.request != NULL);
                while (left > 0) {
                        size_t n = left < sizeof(block) ? left : sizeof(block);

                        http_stream_write(seen.request, block, n);
                        left -= n;
                        turn(1);
                }
                turn(3);
                CHECK(seen.request != NULL); /* it is ours until we end it */
                http_stream_write(seen.request, "too much", 8);
                http_stream_end(seen.request);
                answer = get_answer(&reader);
                CHECK_INT(answer.status, 200);
                CHECK_INT(answer.len, lengths[i]);
                CHECK(!answer.close);
                answer_done(&answer);
                WAIT_FOR(seen.request == NULL);
        }
        reader_done(&reader);
        stop();
}

TEST(breaks_a_stream_that_cannot_be_whole)
{
        struct reader reader;
        struct answer answer;

        start();
        for (int i = 0; i < 4; i++) {
                reader = (struct reader){.fd = dial()};
                put(reader.fd, i < 2 ? "GET /fixed?n=100 HTTP/1.1\r\nHost: x\r\n\r\n"
                                     : "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
                WAIT_FOR(seen.request != NULL);
                http_stream_write(seen.request, "some", 4);
                if (i % 2)
                        turn(5);
                if (i == 0)
                        http_stream_end(seen.request); /* 96 bytes are missing */
                else
                        http_stream_abort(seen.request);
                answer = get_answer(&reader);
                CHECK(answer.status < 0);
                answer_done(&answer);
                CHECK(ended(&reader));
                reader_done(&reader);
                WAIT_FOR(http_server_connections(server) == 0);
                CHECK_INT(seen.done, i + 1);
                seen.request = NULL;
        }
        CHECK_INT(seen.gone, 0);
        stop();
}

TEST(closes_the_connection_with_a_stream_that_ends_it)
{
        start();
        for (int i = 0; i < 4; i++) {
                int fd = dial_unix();

                put(fd, i < 2 ? "GET /silent HTTP/1.0\r\n\r\n" : "GET /silent HTTP/1.1\r\nHost: x\r\n\r\n");
                WAIT_FOR(seen.request != NULL);
                turn(2);
                http_stream(seen.request, 200, "text/plain", UINT64_MAX);
                http_stream_write(seen.request, "some", 4);
                if (i % 2)
                        turn(2);
                if (i < 2)
                        http_stream_end(seen.request);
                else
                        http_stream_abort(seen.request);
                WAIT_FOR(http_server_connections(server) == 0); /* though the client stays */
                close(fd);
                seen.request = NULL;
        }
        stop();
}

TEST(tells_when_the_reader_of_a_stream_left)
{
        static char block[100000];

        start();
        for (int i = 0; i < 4; i++) {
                int fd = i % 2 ? dial_unix() : dial();

                put(fd, i < 2 ? "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"
                              : "GET /fixed?n=10000000 HTTP/1.1\r\nHost: x\r\n\r\n");
                WAIT_FOR(seen.request != NULL);
                if (i >= 2) { /* it does not even read */
                        for (int n = 0; n < 50; n++) {
                                http_stream_write(seen.request, block, sizeof(block));
                                turn(0);
                        }
                }
                turn(5);
                close(fd);
                WAIT_FOR(seen.gone == (unsigned)i + 1);
                WAIT_FOR(http_server_connections(server) == 0);
        }
        stop();
}

TEST(notices_an_end_that_comes_with_the_last_bytes)
{
        static const char *const texts[] = {"GET /hel", "GET /hello HTTP/1.1\r\nHost: x\r\n",
                                            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
                                            "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"};

        start();
        for (size_t i = 0; i < 2 * ARRAY_LEN(texts); i++) {
                int fd = i % 2 ? dial_unix() : dial();

                turn(2);
                send(fd, texts[i / 2], strlen(texts[i / 2]), 0);
                shutdown(fd, SHUT_WR);
                WAIT_FOR(http_server_connections(server) == 0);
                close(fd);
        }
        stop();
}

/* ---- WebSockets ---- */

static const char ws_hello[] = "GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
                               "Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

static bool put_frame(int fd, unsigned first, const void *data, size_t len)
{
        static const uint8_t mask[4] = {0x12, 0x34, 0x56, 0x78};
        uint8_t *frame = malloc(len + 14);
        size_t n = 0;
        bool sent;

        frame[n++] = (uint8_t)first;
        if (len < 126) {
                frame[n++] = (uint8_t)(0x80 | len);
        } else if (len < 65536) {
                frame[n++] = 0x80 | 126;
                frame[n++] = (uint8_t)(len >> 8);
                frame[n++] = (uint8_t)len;
        } else {
                frame[n++] = 0x80 | 127;
                for (int i = 7; i >= 0; i--)
                        frame[n++] = (uint8_t)((uint64_t)len >> 8 * i);
        }
        memcpy(frame + n, mask, 4);
        n += 4;
        for (size_t i = 0; i < len; i++)
                frame[n++] = ((const uint8_t *)data)[i] ^ mask[i % 4];
        sent = put_bytes(fd, frame, n);
        free(frame);
        return sent;
}

struct frame {
        int first; /* -1: none came */
        size_t len;
        char *data;
};

static struct frame get_frame(struct reader *reader)
{
        struct frame frame = {.first = -1};
        size_t head = 2, len;

        for (;;) {
                const uint8_t *at = (const uint8_t *)reader->data;

                if (reader->len >= 2) {
                        len = at[1] & 0x7f;
                        head = len == 126 ? 4 : len == 127 ? 10 : 2;
                        if (reader->len >= head) {
                                if (head > 2)
                                        len = 0;
                                for (size_t i = 2; i < head; i++)
                                        len = len << 8 | at[i];
                                if (reader->len >= head + len)
                                        break;
                        }
                }
                if (!fill(reader, 3000))
                        return frame;
        }
        frame.first = (uint8_t)reader->data[0];
        frame.len = len;
        frame.data = malloc(len + 1);
        memcpy(frame.data, reader->data + head, len);
        frame.data[len] = '\0';
        use_up(reader, head + len);
        return frame;
}

static void check_frame(struct reader *reader, int first, const char *text)
{
        struct frame frame = get_frame(reader);

        CHECK_INT(frame.first, first);
        if (frame.first >= 0 && text != NULL)
                CHECK_STR(frame.data, text);
        free(frame.data);
}

static void check_close(struct reader *reader, int code)
{
        struct frame frame = get_frame(reader);

        CHECK_INT(frame.first, 0x88);
        if (frame.first == 0x88)
                CHECK_INT(frame.len < 2 ? 1005 : (uint8_t)frame.data[0] << 8 | (uint8_t)frame.data[1], code);
        free(frame.data);
}

static struct reader ws_open(bool local)
{
        struct reader reader = {.fd = local ? dial_unix() : dial()};
        struct answer answer;

        put(reader.fd, ws_hello);
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 101);
        CHECK(strstr(answer.head, "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n") != NULL);
        CHECK(strstr(answer.head, "Sec-WebSocket-Protocol") == NULL);
        answer_done(&answer);
        WAIT_FOR(seen.ws != NULL);
        return reader;
}

static void ws_over(struct reader *reader, unsigned closed)
{
        CHECK(ended(reader));
        reader_done(reader);
        WAIT_FOR(seen.ws_closed == closed);
        WAIT_FOR(http_server_connections(server) == 0);
}

TEST(hashes_like_the_standard)
{
        static const struct {
                const char *text, *hash;
        } table[] = {
                {"", "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
                {"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
                {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                 "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
                {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqr"
                 "lmnopqrsmnopqrstnopqrstu",
                 "a49b2446a02c645bf419f995b67091253a04a259"},
        };

        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                uint8_t hash[SHA1_BYTES];
                char text[2 * SHA1_BYTES + 1];

                sha1(table[i].text, strlen(table[i].text), hash);
                for (int n = 0; n < SHA1_BYTES; n++)
                        sprintf(text + 2 * n, "%02x", hash[n]);
                CHECK_STR(text, table[i].hash);
        }
}

TEST(refuses_bad_handshakes)
{
        static const struct {
                const char *text;
                int status;
        } table[] = {
                {"GET /ws HTTP/1.1\r\nHost: x\r\n\r\n", 426},
                {"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: close\r\n\r\n", 426},
                {"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Version: 8\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
                 426},
                {"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Version: 13\r\n\r\n",
                 400},
                {"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\r\n\r\n",
                 400},
                {"GET /ws HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZ!==\r\n\r\n",
                 400},
        };

        start();
        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                struct answer answer = ask("%s", table[i].text);

                CHECK_INT(answer.status, table[i].status);
                if (answer.status == 426)
                        CHECK(strstr(answer.head, "Sec-WebSocket-Version: 13\r\n") != NULL);
                answer_done(&answer);
        }
        CHECK_INT(seen.ws_closed, 0);
        stop();
}

TEST(echoes_messages)
{
        static char large[99999];

        start();
        for (unsigned local = 0; local < 2; local++) {
                struct reader reader = ws_open(local);
                struct frame frame;

                CHECK_INT(http_server_requests(server), 0);
                CHECK_INT(seen.last_status, 101);
                put_frame(reader.fd, 0x81, "hello", 5);
                check_frame(&reader, 0x81, "hello");
                put_frame(reader.fd, 0x82, "bytes", 5);
                check_frame(&reader, 0x82, "bytes");
                put_frame(reader.fd, 0x81, "", 0);
                check_frame(&reader, 0x81, "");
                memset(large, 'l', sizeof(large));
                put_frame(reader.fd, 0x82, large, sizeof(large));
                frame = get_frame(&reader);
                CHECK_INT(frame.len, sizeof(large));
                free(frame.data);
                /* In fragments, with a ping in between. */
                put_frame(reader.fd, 0x01, "frag", 4);
                put_frame(reader.fd, 0x00, "men", 3);
                put_frame(reader.fd, 0x89, "are you there", 13);
                put_frame(reader.fd, 0x80, "ted", 3);
                check_frame(&reader, 0x8a, "are you there");
                check_frame(&reader, 0x81, "fragmented");
                put_frame(reader.fd, 0x8a, "unasked", 7);
                put_frame(reader.fd, 0x88,
                          "\x03\xe8"
                          "bye",
                          5);
                check_close(&reader, 1000);
                ws_over(&reader, local + 1);
        }
        CHECK_INT(seen.ws_messages, 10);
        stop();
}

TEST(reads_frames_that_come_with_the_handshake)
{
        char text[400];
        struct reader reader;
        struct answer answer;

        start();
        memcpy(text, ws_hello, sizeof(ws_hello) - 1);
        memcpy(text + sizeof(ws_hello) - 1, "\x81\x82\0\0\0\0hi", 9);
        reader = (struct reader){.fd = dial()};
        put_bytes(reader.fd, text, sizeof(ws_hello) - 1 + 8);
        answer = get_answer(&reader);
        CHECK_INT(answer.status, 101);
        answer_done(&answer);
        check_frame(&reader, 0x81, "hi");
        reader_done(&reader);
        WAIT_FOR(seen.ws_closed == 1);
        stop();
}

TEST(ends_websockets_that_break_the_rules)
{
        static char large[100001];
        struct reader reader;
        unsigned closed = 0;

        start();
        reader = ws_open(false); /* too large, in one */
        put_frame(reader.fd, 0x82, large, sizeof(large));
        check_close(&reader, 1009);
        ws_over(&reader, ++closed);

        reader = ws_open(false); /* too large, in two */
        put_frame(reader.fd, 0x02, large, 60000);
        put_frame(reader.fd, 0x80, large, 60000);
        check_close(&reader, 1009);
        ws_over(&reader, ++closed);

        reader = ws_open(false); /* not masked */
        put(reader.fd, "\x81\x02hi");
        check_close(&reader, 1002);
        ws_over(&reader, ++closed);

        reader = ws_open(false); /* not UTF-8 */
        put_frame(reader.fd, 0x81, "\xff\xfe", 2);
        check_close(&reader, 1007);
        ws_over(&reader, ++closed);

        reader = ws_open(false); /* reserved bits */
        put_frame(reader.fd, 0xf1, "hi", 2);
        check_close(&reader, 1002);
        ws_over(&reader, ++closed);

        reader = ws_open(false); /* a reserved opcode */
        put_frame(reader.fd, 0x83, "hi", 2);
        CHECK(ended(&reader));
        ws_over(&reader, ++closed);

        reader = ws_open(false); /* leaves without a word */
        close(reader.fd);
        reader.fd = -1;
        closed++;
        WAIT_FOR(seen.ws_closed == closed);
        reader_done(&reader);
        CHECK_INT(seen.ws_messages, 0);
        WAIT_FOR(http_server_connections(server) == 0);
        stop();
}

TEST(closes_after_what_was_written)
{
        static char block[60000];
        struct reader reader;
        struct frame frame;

        start();
        server->limits.sweep_ms = 100;
        server->limits.close_ms = 300;
        reader = ws_open(false);
        put_frame(reader.fd, 0x81, "close now", 9);
        check_close(&reader, 1000);
        put_frame(reader.fd, 0x88, "\x03\xe8", 2);
        ws_over(&reader, 1);

        reader = ws_open(false);
        for (int i = 0; i < 3; i++)
                http_websocket_send(seen.ws, false, block, sizeof(block));
        http_websocket_close(seen.ws, 1001, "going");
        http_websocket_send(seen.ws, false, block, sizeof(block));
        for (int i = 0; i < 3; i++) {
                frame = get_frame(&reader);
                CHECK_INT(frame.len, sizeof(block));
                free(frame.data);
        }
        check_close(&reader, 1001);
        ws_over(&reader, 2); /* though we did not answer */
        stop();
}

TEST(bounds_what_a_websocket_holds)
{
        static char block[16384];
        struct reader reader;
        size_t sent = 0;
        int64_t until;

        start();
        reader = (struct reader){.fd = dial()};
        put(reader.fd, ws_hello);
        WAIT_FOR(seen.ws != NULL);
        for (int i = 0; i < 2000 && http_websocket_room(seen.ws) > 0; i++) {
                http_websocket_send(seen.ws, false, block, sizeof(block));
                sent += sizeof(block);
                turn(0);
        }
        CHECK_INT(http_websocket_room(seen.ws), 0);
        CHECK_INT(seen.ws_rooms, 0);
        while (seen.ws_rooms == 0 && fill(&reader, 2000))
                ;
        CHECK_INT(seen.ws_rooms, 1);
        CHECK(http_websocket_room(seen.ws) > 0);
        /* Pings that nobody reads the answers of: we stop reading, too. */
        until = clock_us() + 500000;
        sent = 0;
        while (clock_us() < until) {
                static const uint8_t ping[] = {0x89, 0x80, 0, 0, 0, 0};
                ssize_t n = send(reader.fd, ping, sizeof(ping), MSG_DONTWAIT | MSG_NOSIGNAL);

                if (n > 0 && n < (ssize_t)sizeof(ping))
                        put_bytes(reader.fd, ping + n, sizeof(ping) - (size_t)n);
                if (n <= 0)
                        uv_run(&loop, UV_RUN_NOWAIT);
        }
        CHECK(seen.ws != NULL);
        reader_done(&reader);
        WAIT_FOR(seen.ws_closed == 1);
        stop();
}

TEST(pings_and_gives_up)
{
        struct reader reader;

        start();
        server->limits.sweep_ms = 50;
        server->limits.ping_ms = 200;
        server->limits.silence_ms = 600;
        reader = ws_open(false);
        for (int i = 0; i < 4; i++) {
                check_frame(&reader, 0x89, "");
                put_frame(reader.fd, 0x8a, "", 0);
        }
        CHECK_INT(seen.ws_closed, 0);
        check_frame(&reader, 0x89, "");
        WAIT_FOR(seen.ws_closed == 1);
        ws_over(&reader, 1);
        stop();
}

/* ---- time and numbers ---- */

TEST(ends_requests_that_trickle)
{
        static const char *const texts[] = {
                "GET /hello HTTP/1.1\r\nHost: x\r\nX-Slow: ",
                "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
                "GET /",
        };

        start_with(100, 1);
        server->limits.sweep_ms = 50;
        server->limits.headers_ms = 400;
        server->limits.body_ms = 400;
        for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
                int fd = dial();
                int64_t begin = clock_us();

                put(fd, texts[i]);
                while (clock_us() - begin < 5000000 && http_server_connections(server) > 0) {
                        put(fd, "a");
                        turn(50);
                }
                CHECK_INT(http_server_connections(server), 0);
                CHECK(clock_us() - begin < 2000000);
                close(fd);
        }
        stop();
}

TEST(ends_connections_without_progress)
{
        struct reader reader;
        int fd;

        start_with(100, 1);
        server->limits.sweep_ms = 50;
        fd = dial(); /* says nothing */
        WAIT_FOR(http_server_connections(server) == 1);
        WAIT_FOR(http_server_connections(server) == 0);
        close(fd);
        reader = (struct reader){.fd = dial()}; /* does not read */
        put(reader.fd, "GET /big?n=20000000 HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(http_server_connections(server) == 1);
        WAIT_FOR(http_server_connections(server) == 0);
        CHECK_INT(seen.done, 1);
        reader_done(&reader);
        /* But a handler may take its time. */
        fd = dial();
        put(fd, "GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
        turn(2500);
        CHECK_INT(http_server_connections(server), 1);
        close(fd);
        WAIT_FOR(seen.gone == 1);
        stop();
}

TEST(serves_beside_thousands_of_idle_ones)
{
        enum { IDLE = 2000 };
        int fds[IDLE];
        struct answer answer;
        struct rlimit limit;

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur < 2 * IDLE + 100)
                SKIP("the limit of open files is too low");
        start();
        for (int i = 0; i < IDLE; i++) {
                fds[i] = i % 2 ? dial() : dial_unix();
                if (i % 3 == 0)
                        put(fds[i], "GET /hel");
                uv_run(&loop, UV_RUN_NOWAIT);
        }
        WAIT_FOR(http_server_connections(server) == IDLE);
        for (int i = 0; i < 20; i++) {
                int64_t before = clock_us();

                answer = ask("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
                CHECK_INT(answer.status, 200);
                CHECK(clock_us() - before < 50000);
                answer_done(&answer);
        }
        for (int i = 0; i < IDLE; i++)
                close(fds[i]);
        WAIT_FOR(http_server_connections(server) == 0);
        stop();
}

TEST(lets_idle_ones_give_way)
{
        int fds[30], held[10];
        struct answer answer;

        start_with(10, 60);
        server->limits.fresh_ms = 20;
        server->limits.sweep_ms = 50;
        for (int i = 0; i < 30; i++) {
                fds[i] = dial();
                turn(5);
        }
        answer = ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 200);
        answer_done(&answer);
        CHECK(http_server_connections(server) <= 10 + 1);
        for (int i = 0; i < 30; i++)
                close(fds[i]);
        turn(5);
        /* With requests under way on all of them the next one waits. */
        for (int i = 0; i < 10; i++) {
                held[i] = dial();
                put(held[i], "GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
                turn(1);
        }
        fds[0] = dial();
        put(fds[0], "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        turn(50);
        CHECK(recv(fds[0], &answer, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
        close(held[0]);
        turn(20);
        CHECK_INT(recv(fds[0], &answer, 1, MSG_DONTWAIT), 1);
        for (int i = 1; i < 10; i++)
                close(held[i]);
        close(fds[0]);
        stop();
}

/* ---- the end ---- */

TEST(quiesces)
{
        struct reader idle, busy, stream;
        struct answer answer;
        struct http_request *kept;

        start();
        idle = (struct reader){.fd = dial()};
        busy = (struct reader){.fd = dial()};
        stream = (struct reader){.fd = dial()};
        put(busy.fd, "GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        kept = seen.request;
        seen.request = NULL;
        put(stream.fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        WAIT_FOR(http_server_connections(server) == 3);

        http_server_quiesce(server);
        CHECK(ended(&idle));
        CHECK_INT(dial(), -1);
        CHECK_INT(dial_unix(), -1);
        CHECK_INT(http_server_requests(server), 2);
        http_stream_write(seen.request, "still here", 10);
        http_stream_end(seen.request);
        answer = get_answer(&stream);
        CHECK_STR(answer.body, "still here");
        answer_done(&answer);
        CHECK(ended(&stream));
        http_reply(kept, 200, "text/plain", "and here", 8);
        answer = get_answer(&busy);
        CHECK_STR(answer.body, "and here");
        CHECK(answer.close);
        answer_done(&answer);
        CHECK(ended(&busy));
        WAIT_FOR(http_server_connections(server) == 0);
        CHECK_INT(http_server_requests(server), 0);
        reader_done(&idle);
        reader_done(&busy);
        reader_done(&stream);
        stop();
}

TEST(ends_with_everything_under_way)
{
        struct reader ws;
        int fds[7];
        struct http_request *silent;

        start();
        ws = ws_open(false);
        for (int i = 0; i < 7; i++)
                fds[i] = dial();
        put(fds[0], "GET /silent HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        silent = seen.request;
        put(fds[1], "GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
        put(fds[2], "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
        put(fds[3], "PUT /slow-upload HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
        put(fds[4], "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
        put(fds[5], "GET /hel");
        put(fds[6], "GET /later?ms=60000 HTTP/1.1\r\nHost: x\r\n\r\n");
        turn(10);
        server = http_server_free(server);
        CHECK_INT(seen.gone, 4);
        CHECK_INT(seen.ws_closed, 1);
        http_reply(silent, 200, NULL, NULL, 0); /* it did not know */
        uv_run(&loop, UV_RUN_DEFAULT);
        CHECK_INT(uv_loop_close(&loop), 0);
        for (int i = 0; i < 7; i++)
                close(fds[i]);
        reader_done(&ws);
        unlink(unix_path);
}
