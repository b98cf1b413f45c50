#include "cli/client/websocket.h"

#include <errno.h>

#include "test.h"

static char seen[200000];
static struct websocket ws;

static int note(void *userdata, enum websocket_opcode opcode, char *data, size_t len, struct cella_err *err)
{
        (void)userdata, (void)err;
        size_t at = strlen(seen);
        snprintf(seen + at, sizeof seen - at, "[%d|%.*s]", (int)opcode, (int)len, data);
        return 0;
}

static int feed(const char *bytes, size_t len, size_t piece)
{
        struct cella_err err;
        char *copy = malloc(len);
        int r = 0;
        memcpy(copy, bytes, len);
        seen[0] = '\0';
        websocket_init(&ws, note, NULL);
        for (size_t at = 0; r == 0 && at < len; at += piece)
                r = websocket_feed(&ws, copy + at, len - at < piece ? len - at : piece, &err);
        free(copy);
        return r;
}

#define FEED(bytes, piece) feed(bytes, sizeof(bytes) - 1, piece)

TEST(the_answer_of_the_standard_is_accepted)
{
        CHECK(websocket_accepts("dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        CHECK(!websocket_accepts("dGhlIHNhbXBsZSBub25jZQ==", "s3pPLMBiTxaQ9kYGzzhZRbK+xOp="));
        CHECK(!websocket_accepts("dGhlIHNhbXBsZSBub25jZQ==", ""));
}

TEST(keys_are_fresh)
{
        char a[WEBSOCKET_KEY_SIZE], b[WEBSOCKET_KEY_SIZE];
        CHECK_INT(websocket_key(a), 0);
        CHECK_INT(websocket_key(b), 0);
        CHECK_INT(strlen(a), 24);
        CHECK(strcmp(a, b) != 0);
}

TEST(messages_come_however_they_are_cut)
{
        static const char bytes[] = "\x81\x02hi\x02\x02"
                                    "ab\x89\x01p\x80\x02"
                                    "cd\x01\x03{\"e\x00\x02xi\x80\x03t\"}"
                                    "\x88\x02\x03\xe8";
        CHECK_INT(FEED(bytes, 1000), 0);
        CHECK_STR(seen, "[1|hi][2|ab][9|p][2|cd][1|{\"exit\"}][8|\x03\xe8]");
        for (size_t piece = 3; piece < 10; piece++)
                CHECK_INT(FEED(bytes, piece), 0);
        CHECK_INT(FEED(bytes, 1), 0);
        CHECK_STR(seen, "[1|hi][2|a][2|b][9|p][2|c][2|d][1|{\"exit\"}][8|\x03\xe8]");
}

TEST(lengths_have_three_forms)
{
        static char frame[70020];
        memset(frame, 'x', sizeof frame);
        memcpy(frame, "\x82\x7e\x01\x00", 4);
        CHECK_INT(feed(frame, 4 + 256, 4096), 0);
        CHECK_INT(strlen(seen), 256 + 4);
        memcpy(frame, "\x82\x7f\x00\x00\x00\x00\x00\x01\x11\x70", 10);
        CHECK_INT(feed(frame, 10 + 70000, 100000), 0);
        CHECK_INT(strlen(seen), 70000 + 4);
}

TEST(what_breaks_the_rules_is_refused)
{
        CHECK_INT(FEED("\x82\x81\0\0\0\0x", 10), -EPROTO);                        /* masked */
        CHECK_INT(FEED("\xc2\x01x", 10), -EPROTO);                                /* reserved bit */
        CHECK_INT(FEED("\x83\x01x", 10), -EPROTO);                                /* unknown opcode */
        CHECK_INT(FEED("\x8b\x01x", 10), -EPROTO);                                /* unknown control */
        CHECK_INT(FEED("\x80\x01x", 10), -EPROTO);                                /* continues nothing */
        CHECK_INT(FEED("\x02\x01x\x82\x01y", 10), -EPROTO);                       /* inside another */
        CHECK_INT(FEED("\x09\x01x", 10), -EPROTO);                                /* a control in parts */
        CHECK_INT(FEED("\x89\x7e\x00\x80x", 10), -EPROTO);                        /* a long control */
        CHECK_INT(FEED("\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", 20), -EPROTO); /* no end */
}

TEST(a_text_without_end_is_refused)
{
        static char frame[70020];
        memset(frame, 'x', sizeof frame);
        memcpy(frame, "\x81\x7f\x00\x00\x00\x00\x00\x01\x11\x70", 10);
        CHECK_INT(feed(frame, 10 + 70000, 4096), -EPROTO);
}

TEST(frames_we_send_are_masked)
{
        static const size_t lens[] = {0, 1, 125, 126, 65535, 65536};
        for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
                size_t len = lens[i], n;
                char head[WEBSOCKET_HEAD_MAX], *data = malloc(len + 1);
                memset(data, 'd', len);
                n = websocket_frame(head, WS_BINARY, data, len);
                CHECK_INT(n, 2 + 4 + (len < 126 ? 0 : len < 65536 ? 2 : 8));
                CHECK_INT((unsigned char)head[0], 0x82);
                CHECK((head[1] & 0x80) != 0);
                for (size_t k = 0; k < len; k++)
                        if ((data[k] ^ head[n - 4 + k % 4]) != 'd') {
                                CHECK(false);
                                break;
                        }
                free(data);
        }
}
