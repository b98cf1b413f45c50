/* test/unit/http_answer.c -- the HTTP server: answers that come later, or piece by piece. */
#include "http_fixture.h"

TEST(sends_large_answers)
{
        struct answer answer = ask("GET /big?n=5000000 HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 200);
        CHECK_INT(answer.len, 5000000);
}

TEST(leaves_out_headers_with_a_line_break)
{
        AUTO(reader_done) struct reader reader = {.fd = dial()};
        put(reader.fd, "GET /silent HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        http_add_header(seen.request, "X-One", "1\r\nX-Two: 2");
        http_add_header(seen.request, "X-Three", "3");
        http_reply(seen.request, 200, "text/plain\r\nX-Four: 4", NULL, 0);
        struct answer answer = get_answer(&reader);
        CHECK_INT(answer.status, 200);
        CHECK(strstr(answer.head, "X-Three: 3\r\n") != NULL);
        CHECK(strstr(answer.head, "X-One") == NULL);
        CHECK(strstr(answer.head, "X-Two") == NULL);
        CHECK(strstr(answer.head, "X-Four") == NULL);
}

TEST(answers_without_on_gone)
{
        int fd;

        struct reader reader = {.fd = dial()};
        put(reader.fd, "GET /silent HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        http_reply(seen.request, 200, NULL, NULL, 0);
        CHECK_INT(get_answer(&reader).status, 200);
        reader_done(&reader);
        /* The same for a client that has disconnected. */
        seen.request = NULL;
        fd = dial();
        put(fd, "GET /silent HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        close(fd);
        turn(20);
        http_reply(seen.request, 200, "text/plain", "nobody", 6);
        WAIT_FOR(seen.done == 2);
        WAIT_FOR(http_server_connections(server) == 0);
}

TEST(takes_a_half_closed_client_for_gone)
{
        struct reader reader = {.fd = dial()};
        put(reader.fd, "GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        shutdown(reader.fd, SHUT_WR);
        WAIT_FOR(seen.gone == 1);
        CHECK(ended(&reader));
        reader_done(&reader);
        /* Requests that can be answered at once are. */
        reader = (struct reader){.fd = dial()};
        send(reader.fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n", 32, 0);
        shutdown(reader.fd, SHUT_WR);
        CHECK_INT(get_answer(&reader).status, 200);
        CHECK(ended(&reader));
        reader_done(&reader);
        /* A client that disconnected before its request was read. */
        seen.gone = 0;
        reader = (struct reader){.fd = dial()};
        send(reader.fd, "GET /never HTTP/1.1\r\nHost: x\r\n\r\n", 32, 0);
        close(reader.fd);
        WAIT_FOR(seen.gone == 1);
        WAIT_FOR(http_server_connections(server) == 0);
}

TEST(keeps_the_next_request_until_the_first_is_answered)
{
        AUTO(reader_done) struct reader reader = {.fd = dial()};
        put(reader.fd, "GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        put(reader.fd, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        turn(30);
        CHECK_INT(seen.gone, 0);
        CHECK_INT(seen.requests, 1);
        http_reply(seen.request, 200, "text/plain", "one", 3);
        CHECK_STR(get_answer(&reader).body, "one");
        CHECK_STR(get_answer(&reader).body, "hello");
        /* The same, and the client disconnects. */
        seen.request = NULL;
        put(reader.fd, "GET /never HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        close(reader.fd);
        reader.fd = -1;
        WAIT_FOR(seen.gone == 1);
        WAIT_FOR(http_server_connections(server) == 0);
        CHECK_INT(seen.requests, 3);
}

TEST(calls_on_gone_that_is_set_after_the_client_left)
{
        int fd;

        fd = dial();
        put(fd, "GET /silent HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        close(fd);
        turn(20);
        CHECK_INT(seen.gone, 0);
        http_on_gone(seen.request, on_gone, NULL);
        CHECK_INT(seen.gone, 0); /* on_gone is not called inside http_on_gone() */
        WAIT_FOR(seen.gone == 1);
        WAIT_FOR(http_server_connections(server) == 0);
}

/* Longer under valgrind. */
static bool machine_is_slow(void)
{
        int64_t before = clock_us();
        if (getenv("CELLA_TEST_SLOW")) /* valgrind: no time measured there means anything */
                return true;

        for (volatile int i = 0; i < 1000000; i++)
                ;
        return clock_us() - before > 10000;
}

static void check_event_latency(int fd)
{
        struct reader reader = {.fd = fd};
        unsigned quick = 0;

        put(reader.fd, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        while (reader.len == 0 || strstr(reader.data, "\r\n\r\n") == NULL)
                if (!fill(&reader, PATIENCE))
                        break;
        CHECK(reader.len > 0); /* the headers do not wait for the first event */
        for (int i = 0; i < 100; i++) {
                int64_t before = clock_us();
                size_t len = reader.len;

                http_stream_write(seen.request, "data: x\n\n", 9);
                while (reader.len == len && fill(&reader, PATIENCE))
                        ;
                quick += clock_us() - before < 300;
        }
        CHECK(quick > 50 || machine_is_slow());
        http_stream_end(seen.request);
        seen.request = NULL;
        while (strcmp(reader.data + reader.len - 5, "0\r\n\r\n") != 0)
                if (!fill(&reader, PATIENCE))
                        break;
        CHECK(strcmp(reader.data + reader.len - 5, "0\r\n\r\n") == 0);
        reader_done(&reader);
}

TEST(sends_events_at_once)
{
        check_event_latency(dial());
        check_event_latency(dial_unix());
        CHECK_INT(seen.gone, 0);
}

TEST(bounds_the_memory_for_a_slow_reader)
{
        static char block[32768];
        size_t written = 0;

        AUTO(reader_done) struct reader reader = {.fd = dial()};
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
        /* Now the client reads. */
        while (seen.rooms == 0 && fill(&reader, PATIENCE))
                ;
        CHECK_INT(seen.rooms, 1);
        CHECK(http_stream_room(seen.request) >= HTTP_STREAM_MAX / 2);
        http_stream_end(seen.request);
        struct answer answer = get_answer(&reader);
        CHECK_INT(answer.status, 200);
        CHECK_INT(answer.len, written);
}

TEST(streams_a_known_length)
{
        static char block[50000];
        static const uint64_t lengths[] = {0, 1, 49999, 50000, 200000};

        AUTO(reader_done) struct reader reader = {.fd = dial()};
        for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
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
                CHECK(seen.request != NULL); /* the stream stays valid until the handler ends it */
                http_stream_write(seen.request, "too much", 8);
                http_stream_end(seen.request);
                struct answer answer = get_answer(&reader);
                CHECK_INT(answer.status, 200);
                CHECK_INT(answer.len, lengths[i]);
                CHECK(!answer.close);
                WAIT_FOR(seen.request == NULL);
        }
}

TEST(breaks_a_stream_that_cannot_be_whole)
{
        struct reader reader;
        struct answer answer;

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
                CHECK(ended(&reader));
                reader_done(&reader);
                WAIT_FOR(http_server_connections(server) == 0);
                CHECK_INT(seen.done, i + 1);
                seen.request = NULL;
        }
        CHECK_INT(seen.gone, 0);
}

TEST(closes_the_connection_with_a_stream_that_ends_it)
{
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
}

TEST(reports_that_the_reader_of_a_stream_left)
{
        static char block[100000];

        for (int i = 0; i < 4; i++) {
                int fd = i % 2 ? dial_unix() : dial();

                put(fd, i < 2 ? "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"
                              : "GET /fixed?n=10000000 HTTP/1.1\r\nHost: x\r\n\r\n");
                WAIT_FOR(seen.request != NULL);
                if (i >= 2) { /* the client does not read at all */
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
}

TEST(notices_an_end_that_comes_with_the_last_bytes)
{
        static const char *const texts[] = {"GET /hel", "GET /hello HTTP/1.1\r\nHost: x\r\n",
                                            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
                                            "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"};

        for (size_t i = 0; i < 2 * ARRAY_LEN(texts); i++) {
                int fd = i % 2 ? dial_unix() : dial();

                turn(2);
                send(fd, texts[i / 2], strlen(texts[i / 2]), 0);
                shutdown(fd, SHUT_WR);
                WAIT_FOR(http_server_connections(server) == 0);
                close(fd);
        }
}

static void count_turn(uv_check_t *check)
{
        ++*(unsigned *)check->data;
}

static void stop_loop(uv_timer_t *timer)
{
        uv_stop(timer->loop);
}

TEST(sleeps_while_clients_that_left_are_still_served)
{
        unsigned turns = 0;
        uv_check_t check;
        uv_timer_t timer;
        int fds[3];

        for (int i = 0; i < 3; i++)
                fds[i] = i == 2 ? dial_unix() : dial();
        put(fds[0], "GET /big?n=20000000 HTTP/1.1\r\nHost: x\r\n\r\n"); /* and it is not read */
        put(fds[1], "GET /silent HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        put(fds[2], "GET /big?n=20000000 HTTP/1.1\r\nHost: x\r\n\r\n");
        turn(5);
        for (int i = 0; i < 3; i++)
                shutdown(fds[i], SHUT_WR);
        turn(20);
        uv_check_init(&loop, &check);
        uv_timer_init(&loop, &timer);
        check.data = &turns;
        uv_check_start(&check, count_turn);
        uv_timer_start(&timer, stop_loop, 500, 0);
        uv_run(&loop, UV_RUN_DEFAULT);
        CHECK(turns < 50);
        uv_close((uv_handle_t *)&check, NULL);
        uv_close((uv_handle_t *)&timer, NULL);
        http_reply(seen.request, 200, NULL, NULL, 0);
        for (int i = 0; i < 3; i++)
                close(fds[i]);
        WAIT_FOR(http_server_connections(server) == 0);
}
