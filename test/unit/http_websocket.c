/* test/unit/http_websocket.c -- the HTTP server: WebSockets (RFC 6455). */
#include "http/internal.h"
#include "http/sha1.h"

#include "http_fixture.h"

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
                if (!fill(reader, PATIENCE))
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

static void ws_over(struct reader *reader, unsigned closed)
{
        CHECK(ended(reader));
        reader_done(reader);
        WAIT_FOR(seen.ws_closed == closed);
        WAIT_FOR(http_server_connections(server) == 0);
}

TEST(sha1_matches_the_standard)
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

        for (size_t i = 0; i < ARRAY_LEN(table); i++) {
                struct answer answer = ask("%s", table[i].text);

                CHECK_INT(answer.status, table[i].status);
                if (answer.status == 426)
                        CHECK(strstr(answer.head, "Sec-WebSocket-Version: 13\r\n") != NULL);
        }
        CHECK_INT(seen.ws_closed, 0);
}

TEST(echoes_messages)
{
        static char large[99999];

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
}

TEST(reads_frames_that_come_with_the_handshake)
{
        char text[400];

        memcpy(text, ws_hello, sizeof(ws_hello) - 1);
        memcpy(text + sizeof(ws_hello) - 1, "\x81\x82\0\0\0\0hi", 9);
        struct reader reader = {.fd = dial()};
        put_bytes(reader.fd, text, sizeof(ws_hello) - 1 + 8);
        CHECK_INT(get_answer(&reader).status, 101);
        check_frame(&reader, 0x81, "hi");
        reader_done(&reader);
        WAIT_FOR(seen.ws_closed == 1);
}

TEST(ends_websockets_that_break_the_rules)
{
        static char large[100001];
        unsigned closed = 0;

        struct reader reader = ws_open(false); /* too large, in one */
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

        reader = ws_open(false); /* disconnects without a close frame */
        close(reader.fd);
        reader.fd = -1;
        closed++;
        WAIT_FOR(seen.ws_closed == closed);
        reader_done(&reader);
        CHECK_INT(seen.ws_messages, 0);
        WAIT_FOR(http_server_connections(server) == 0);
}

TEST(closes_after_written_messages_were_sent)
{
        static char block[60000];
        struct frame frame;

        server->limits.sweep_ms = 100;
        server->limits.close_ms = 300;
        struct reader reader = ws_open(false);
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
}

TEST(bounds_the_memory_of_a_websocket)
{
        static char block[16384];
        size_t sent = 0;
        int64_t until;

        struct reader reader = {.fd = dial()};
        put(reader.fd, ws_hello);
        WAIT_FOR(seen.ws != NULL);
        for (int i = 0; i < 2000 && http_websocket_room(seen.ws) > 0; i++) {
                http_websocket_send(seen.ws, false, block, sizeof(block));
                sent += sizeof(block);
                turn(0);
        }
        CHECK_INT(http_websocket_room(seen.ws), 0);
        CHECK_INT(seen.ws_rooms, 0);
        while (seen.ws_rooms == 0 && fill(&reader, PATIENCE))
                ;
        CHECK_INT(seen.ws_rooms, 1);
        CHECK(http_websocket_room(seen.ws) > 0);
        /* Pings with answers that are not read: we stop reading, too. */
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
}

TEST(pings_and_gives_up)
{
        server->limits.sweep_ms = 50;
        server->limits.ping_ms = 500;
        server->limits.silence_ms = 5000;
        struct reader reader = ws_open(false);
        for (int i = 0; i < 11; i++) { /* in all longer than silence_ms, which each pong starts anew */
                check_frame(&reader, 0x89, "");
                put_frame(reader.fd, 0x8a, "", 0);
        }
        CHECK_INT(seen.ws_closed, 0);
        check_frame(&reader, 0x89, "");
        server->limits.silence_ms = 1000; /* a ping without an answer */
        WAIT_FOR(seen.ws_closed == 1);
        ws_over(&reader, 1);
}
