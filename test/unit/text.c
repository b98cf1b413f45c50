#include "cli/text.h"

#include "test.h"

static const char *safe(const char *text)
{
        static char out[64];
        text_safe(out, sizeof out, text);
        return out;
}

TEST(plain_text_stays)
{
        CHECK_STR(safe("hello, w\xc3\xb6rld \xf0\x9f\x98\x80"), "hello, w\xc3\xb6rld \xf0\x9f\x98\x80");
        CHECK_STR(safe(""), "");
        CHECK_STR(safe(NULL), "");
}

TEST(control_characters_are_replaced)
{
        CHECK_STR(safe("\033[31mred\033]0;title\007"), "?[31mred?]0;title?");
        CHECK_STR(safe("a\nb\rc\td\x7f"), "a?b?c?d?");
        CHECK_STR(safe("\xc2\x9b"
                       "31m"),
                  "?31m"); /* CSI as one character */
        CHECK_STR(safe("\xe2\x80\xae"
                       "evil"),
                  "?evil"); /* right-to-left override */
        CHECK_STR(safe("\xe2\x80\xa8"), "?");
        CHECK_STR(safe("\x9b"
                       "31m\xff"),
                  "?31m?"); /* not UTF-8 */
}

TEST(text_that_does_not_fit_is_cut_between_characters)
{
        char out[6];
        text_safe(out, sizeof out, "\xc3\xb6\xc3\xb6\xc3\xb6");
        CHECK_STR(out, "\xc3\xb6\xc3\xb6");
        text_safe(out, 1, "x");
        CHECK_STR(out, "");
}

TEST(tables_are_aligned)
{
        static const char *const headings[] = {"A", "B"};
        struct table t;
        char line[3][64];
        FILE *f = tmpfile();
        int saved = dup(1);
        fflush(stdout);
        dup2(fileno(f), 1);
        table_init(&t, headings, 2);
        table_add(&t, "\xc3\xb6\xc3\xb6\xc3\xb6", 0);
        table_add(&t, "\033x", 0);
        table_add(&t, "", 0);
        table_add(&t, "0123456789", 6);
        table_print(&t);
        fflush(stdout);
        dup2(saved, 1);
        close(saved);
        rewind(f);
        for (int i = 0; i < 3; i++)
                CHECK(fgets(line[i], sizeof line[i], f) != NULL);
        CHECK_STR(line[0], "A    B\n");
        CHECK_STR(line[1], "\xc3\xb6\xc3\xb6\xc3\xb6  ?x\n");
        CHECK_STR(line[2], "-    0123..\n");
        fclose(f);
}
