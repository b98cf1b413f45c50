/* test/unit/http_body.c -- the HTTP server: what clients send. */
#include "http_fixture.h"

TEST(refuses_a_body_by_its_length_at_once)
{
        struct reader reader = {.fd = dial()};
        put(reader.fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n");
        struct answer answer = get_answer(&reader);
        CHECK_INT(answer.status, 413);
        CHECK(answer.close);
        CHECK_INT(seen.last_error, 413);
        CHECK(ended(&reader));
        reader_done(&reader);
        CHECK_INT(ask("GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx").status, 413);
        CHECK_INT(seen.requests, 0);
}

TEST(lets_a_client_that_sends_blindly_see_the_413)
{
        static char block[64 * 1024];
        size_t sent = 0;

        AUTO(reader_done) struct reader reader = {.fd = dial()};
        put(reader.fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n");
        while (sent < 512 * 1024 && put_bytes(reader.fd, block, sizeof(block)))
                sent += sizeof(block);
        CHECK_INT(sent, 512 * 1024);
        CHECK_INT(get_answer(&reader).status, 413);
        while (sent < (1u << 30) && put_bytes(reader.fd, block, sizeof(block)))
                sent += sizeof(block);
        CHECK(sent < 16u << 20); /* the server closed the connection */
}

TEST(refuses_a_body_by_its_count)
{
        struct reader reader;
        struct answer answer;
        char chunk[1100];

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
                CHECK(ended(&reader));
                reader_done(&reader);
        }
        CHECK_INT(seen.requests, 0);
        WAIT_FOR(http_server_connections(server) == 0);
        CHECK_INT(seen.done, 2);
}

TEST(answers_expectations)
{
        AUTO(reader_done) struct reader reader = {.fd = dial()};
        put(reader.fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
        CHECK_INT(get_answer(&reader).status, 100);
        put(reader.fd, "abc");
        CHECK_ANSWER(get_answer(&reader), 200, "abc");
        put(reader.fd,
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\nExpect: 100-continue\r\n\r\n");
        CHECK_INT(get_answer(&reader).status, 413);
}

TEST(takes_a_body_of_just_the_maximum)
{
        struct answer answer;
        char *body = malloc(100000);

        memset(body, 'm', 100000);
        struct reader reader = {.fd = dial()};
        for (int i = 0; i < 2; i++) {
                put(reader.fd, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n");
                put_bytes(reader.fd, body, 100000);
                answer = get_answer(&reader);
                CHECK_INT(answer.status, 200);
                CHECK_INT(answer.len, 100000);
        }
        reader_done(&reader);
        free(body);
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
}

TEST(streams_bodies_in)
{
        static char block[100000];

        AUTO(reader_done) struct reader reader = {.fd = dial()};
        put(reader.fd, "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\n\r\n");
        for (int i = 0; i < 100; i++)
                put_bytes(reader.fd, block, sizeof(block));
        struct answer answer = get_answer(&reader);
        CHECK_INT(answer.status, 201);
        CHECK_STR(answer.body, "10000000");
        CHECK(!answer.close);
        seen.body_bytes = 0;
        put(reader.fd, "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        CHECK_ANSWER(get_answer(&reader), 201, "0");
        CHECK_INT(seen.body_ends, 2);
}

TEST(stops_reading_a_body_that_is_not_consumed)
{
        static char block[65536];
        size_t sent = 0, held;
        int64_t until;

        seen.take = 100;
        AUTO(reader_done) struct reader reader = {.fd = dial()};
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
        CHECK_ANSWER(get_answer(&reader), 201, "60000000");
}

TEST(reports_that_an_uploading_client_left)
{
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
}

TEST(asks_for_a_body_when_the_handler_does)
{
        struct answer answer;

        AUTO(reader_done) struct reader reader = {.fd = dial()};
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
                        CHECK_INT(get_answer(&reader).status, 100);
                        put(reader.fd, "abc");
                }
                answer = get_answer(&reader);
                CHECK_INT(answer.status, 201);
                CHECK_STR(answer.body, i < 2 ? "3" : "0");
                CHECK(!answer.close);
                turn(2);
        }
}

TEST(answers_in_the_middle_of_a_body)
{
        struct answer answer;
        struct reader reader;

        for (int i = 0; i < 3; i++) {
                reader = (struct reader){.fd = dial()};
                seen.take = i == 1 ? 1 : -1;
                put(reader.fd,
                    i == 0 ? "PUT /slow-upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc"
                           : "PUT /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc");
                WAIT_FOR(seen.request != NULL); /* before the body; in it; waiting */
                turn(5);
                http_reply(seen.request, 507, "text/plain", "full", 4);
                answer = get_answer(&reader);
                CHECK_INT(answer.status, 507);
                CHECK_STR(answer.body, "full");
                CHECK(answer.close);
                CHECK(ended(&reader));
                reader_done(&reader);
                WAIT_FOR(http_server_connections(server) == 0);
                CHECK_INT(seen.done, i + 1);
                CHECK_INT(seen.last_status, 507);
                seen.request = NULL;
        }
        CHECK_INT(seen.gone, 0);
}
