#include "cli/client/sse.h"

#include "test.h"

static char seen[4096];

static int note(void *userdata, const char *name, char *data, size_t len, struct cella_err *err)
{
        (void)userdata, (void)err;
        size_t at = strlen(seen);
        snprintf(seen + at, sizeof seen - at, "[%s|%s|%zu]", name, data, len);
        return strcmp(name, "stop") ? 0 : -ECANCELED;
}

/* Feeds the text in pieces of so many bytes. */
static int feed(const char *text, size_t piece)
{
        struct sse s;
        struct cella_err err;
        size_t len = strlen(text);
        int r = 0;
        seen[0] = '\0';
        sse_init(&s, note, NULL);
        for (size_t at = 0; r == 0 && at < len; at += piece)
                r = sse_feed(&s, text + at, len - at < piece ? len - at : piece, &err);
        sse_done(&s);
        return r;
}

TEST(events_are_read_from_any_pieces)
{
        static const char text[] =
                ": hello\n\nevent: start\ndata: {\"a\": 1}\n\nevent:stdout\ndata:x\ndata: y\nid: "
                "7\nretry: 1\n\ndata\n\nevent: lost\n\ndata: unfinished\n";
        for (size_t piece = 1; piece < sizeof text; piece++) {
                CHECK_INT(feed(text, piece), 0);
                CHECK_STR(seen, "[start|{\"a\": 1}|8][stdout|x\ny|3][message||0]");
        }
}

TEST(lines_end_in_any_of_three_ways)
{
        for (size_t piece = 1; piece < 12; piece++) {
                CHECK_INT(feed("data: a\r\rdata: b\r\n\r\ndata: c\n\n\r\n", piece), 0);
                CHECK_STR(seen, "[message|a|1][message|b|1][message|c|1]");
        }
}

TEST(a_byte_order_mark_is_skipped_once)
{
        CHECK_INT(feed("\xef\xbb\xbf"
                       "data: a\n\n\xef\xbb\xbf"
                       "data: b\n\n",
                       3),
                  0);
        CHECK_STR(seen, "[message|a|1]");
}

TEST(names_are_cut_and_unknown_fields_ignored)
{
        CHECK_INT(feed("event: 0123456789012345678901234567890123456789\nwhat: is this\ndata: x\n\n", 5), 0);
        CHECK_STR(seen, "[0123456789012345678901234567890|x|1]");
}

TEST(the_listener_can_end_the_stream)
{
        CHECK_INT(feed("event: stop\ndata: x\n\ndata: y\n\n", 100), -ECANCELED);
        CHECK_STR(seen, "[stop|x|1]");
}

TEST(an_event_without_end_is_refused)
{
        struct sse s;
        struct cella_err err;
        char *block = malloc(1 << 20);
        int r = 0;
        memset(block, 'x', 1 << 20);
        sse_init(&s, note, NULL);
        for (int i = 0; i < 40 && r == 0; i++)
                r = sse_feed(&s, block, 1 << 20, &err);
        CHECK_INT(r, -EFBIG);
        sse_done(&s);
        sse_init(&s, note, NULL);
        memcpy(block, "data: ", 6);
        block[(1 << 20) - 1] = '\n';
        r = 0;
        for (int i = 0; i < 40 && r == 0; i++)
                r = sse_feed(&s, block, 1 << 20, &err);
        CHECK_INT(r, -EFBIG);
        sse_done(&s);
        free(block);
}
