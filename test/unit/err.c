#include "base/err.h"

#include "test.h"

static const char *said(const char *text)
{
        static struct cella_err err;
        err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "%.80s is bad", text);
        return err.msg;
}

TEST(messages_that_quote_invalid_utf8_are_valid)
{
        CHECK_STR(said("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
                  "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 is bad");
        CHECK_STR(said("\xff"), "? is bad");
        CHECK_STR(said("a\x80z"), "a?z is bad");
        CHECK_STR(said("\xc0\xaf"), "?? is bad");            /* overlong */
        CHECK_STR(said("\xe0\x80\xaf"), "??? is bad");       /* overlong */
        CHECK_STR(said("\xed\xa0\x80"), "??? is bad");       /* a surrogate */
        CHECK_STR(said("\xf4\x90\x80\x80"), "???? is bad");  /* past the last */
        CHECK_STR(said("\xe2\x82"), "?? is bad");            /* not whole */
        CHECK_STR(said("a\nb\x1b[m\x7f"), "a?b?[m? is bad"); /* for terminals and lines */
}

TEST(a_precision_that_cuts_a_character_leaves_a_mark)
{
        char text[100];
        memset(text, 'a', sizeof text);
        memcpy(text + 79, "\xc3\xa9", 3);
        char *end = strstr(said(text), " is bad");
        CHECK(end && end[-1] == '?' && end[-2] == 'a');
}

TEST(truncated_text_is_cut_between_characters)
{
        struct cella_err err;
        char text[400];
        for (unsigned shift = 0; shift < 4; shift++) {
                memset(text, 'a', shift);
                for (size_t i = shift; i + 4 < sizeof text; i += 4)
                        memcpy(text + i, "\xf0\x9f\x98\x80", 5);
                err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "%s", text);
                size_t whole = (sizeof err.msg - 1 - shift) / 4 * 4 + shift;
                CHECK_INT(strlen(err.msg), whole);
                CHECK(!strncmp(err.msg, text, whole));
                CHECK_INT(err_hint(&err, "%s", text), -EINVAL);
                whole = (sizeof err.hint - 1 - shift) / 4 * 4 + shift;
                CHECK_INT(strlen(err.hint), whole);
                CHECK(!strncmp(err.hint, text, whole));
        }
}

TEST(the_text_of_the_number_is_added_as_far_as_it_fits)
{
        struct cella_err err;
        char text[400];
        CHECK_INT(err_set(&err, CELLA_INTERNAL, -ENOENT, "file '%s'", "a\xff"), -ENOENT);
        CHECK_STR(err.msg, "file 'a?': No such file or directory");
        memset(text, 'x', sizeof text);
        text[sizeof text - 1] = '\0';
        err_set(&err, CELLA_INTERNAL, -ENOENT, "%s", text);
        CHECK_INT(strlen(err.msg), sizeof err.msg - 1);
        CHECK_INT(err_hint(NULL, "x"), -EIO);
}
