/* test/unit/http_limits.c -- the HTTP server: time limits, connection limits, and shutdown. */
#include "http/internal.h"

#include "http_fixture.h"

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
                while (clock_us() - begin < PATIENCE * 1000 && http_server_connections(server) > 0) {
                        put(fd, "a");
                        turn(50);
                }
                CHECK_INT(http_server_connections(server), 0);
                close(fd);
        }
}

TEST(ends_connections_without_progress)
{
        int fd;

        start_with(100, 1);
        server->limits.sweep_ms = 50;
        fd = dial(); /* sends nothing */
        WAIT_FOR(http_server_connections(server) == 1);
        WAIT_FOR(http_server_connections(server) == 0);
        close(fd);
        struct reader reader = {.fd = dial()}; /* does not read */
        put(reader.fd, "GET /big?n=20000000 HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(http_server_connections(server) == 1);
        WAIT_FOR(http_server_connections(server) == 0);
        CHECK_INT(seen.done, 1);
        reader_done(&reader);
        /* A handler may take longer. */
        fd = dial();
        put(fd, "GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
        turn(2500);
        CHECK_INT(http_server_connections(server), 1);
        close(fd);
        WAIT_FOR(seen.gone == 1);
}

TEST(serves_beside_thousands_of_idle_connections)
{
        enum { IDLE = 2000 };
        int fds[IDLE];
        struct rlimit limit;

        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
        if (limit.rlim_cur < 2 * IDLE + 100)
                SKIP("the limit of open files is too low");
        for (int i = 0; i < IDLE; i++) {
                fds[i] = i % 2 ? dial() : dial_unix();
                if (i % 3 == 0)
                        put(fds[i], "GET /hel");
                uv_run(&loop, UV_RUN_NOWAIT);
        }
        WAIT_FOR(http_server_connections(server) == IDLE);
        for (int i = 0; i < 20; i++) {
                clock_t before = clock(); /* CPU time: the loop never sleeps here */

                CHECK_INT(ask("GET /later HTTP/1.1\r\nHost: x\r\n\r\n").status, 200);
                CHECK(clock() - before < CLOCKS_PER_SEC);
        }
        for (int i = 0; i < IDLE; i++)
                close(fds[i]);
        WAIT_FOR(http_server_connections(server) == 0);
}

TEST(closes_idle_connections_for_new_ones)
{
        int fds[30], held[10];

        start_with(10, 60);
        server->limits.fresh_ms = 20;
        server->limits.sweep_ms = 50;
        for (int i = 0; i < 30; i++) {
                fds[i] = dial();
                turn(5);
        }
        struct answer answer = ask("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK_INT(answer.status, 200);
        CHECK(http_server_connections(server) <= 10 + 1);
        for (int i = 0; i < 30; i++)
                close(fds[i]);
        WAIT_FOR(http_server_connections(server) == 0);
        /* If all connections have active requests, the next one waits. */
        for (int i = 0; i < 10; i++) {
                held[i] = dial();
                put(held[i], "GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
        }
        WAIT_FOR(http_server_requests(server) == 10);
        fds[0] = dial();
        put(fds[0], "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
        turn(50);
        CHECK(recv(fds[0], &answer, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
        close(held[0]);
        WAIT_FOR(recv(fds[0], &answer, 1, MSG_DONTWAIT | MSG_PEEK) == 1);
        for (int i = 1; i < 10; i++)
                close(held[i]);
        close(fds[0]);
}

TEST(quiesces)
{
        struct reader idle, busy, stream;
        struct http_request *kept;

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
        CHECK_STR(get_answer(&stream).body, "still here");
        CHECK(ended(&stream));
        http_reply(kept, 200, "text/plain", "and here", 8);
        struct answer answer = get_answer(&busy);
        CHECK_STR(answer.body, "and here");
        CHECK(answer.close);
        CHECK(ended(&busy));
        WAIT_FOR(http_server_connections(server) == 0);
        CHECK_INT(http_server_requests(server), 0);
        reader_done(&idle);
        reader_done(&busy);
        reader_done(&stream);
}

TEST(ends_with_everything_under_way)
{
        AUTO(reader_done) struct reader ws = ws_open(false);
        int fds[7];
        for (int i = 0; i < 7; i++)
                fds[i] = dial();
        put(fds[0], "GET /silent HTTP/1.1\r\nHost: x\r\n\r\n");
        WAIT_FOR(seen.request != NULL);
        struct http_request *silent = seen.request;
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
        http_reply(silent, 200, NULL, NULL, 0); /* has no on_gone */
        uv_run(&loop, UV_RUN_DEFAULT);
        CHECK_INT(uv_loop_close(&loop), 0);
        for (int i = 0; i < 7; i++)
                close(fds[i]);
        unlink(unix_path);
}
