#include "base/json_read.h"

#include "test.h"

/* Reads a copy on the heap of exactly its size, so that a sanitizer sees a step too far. */
static char *last_text;
static struct json_doc last;

static int read_len(const char *text, size_t len, size_t max)
{
        struct cella_err err = {0};
        free(last_text);
        json_doc_done(&last);
        last_text = malloc(len ? len : 1);
        memcpy(last_text, text, len);
        return json_read(last_text, len, max, &last, &err);
}

static int read_text(const char *text)
{
        return read_len(text, strlen(text), 100000);
}

TEST(words_and_numbers_are_values)
{
        CHECK_INT(read_text("null"), 0);
        CHECK_INT(last.values->type, JSON_NULL);
        CHECK_INT(read_text(" \t\r\n true \n"), 0);
        CHECK_INT(last.values->type, JSON_BOOL);
        CHECK(last.values->real == 1);
        CHECK_INT(read_text("false"), 0);
        CHECK(last.values->real == 0);
        CHECK_INT(read_text("-0"), 0);
        CHECK(last.values->is_integer);
        CHECK_INT(read_text("-12.5e-1"), 0);
        CHECK(last.values->real == -1.25);
        CHECK(!last.values->is_integer);
}

TEST(integers_are_exact_as_far_as_they_fit)
{
        CHECK_INT(read_text("9223372036854775807"), 0);
        CHECK(last.values->is_integer);
        CHECK_INT(last.values->integer, INT64_MAX);
        CHECK_INT(read_text("-9223372036854775808"), 0);
        CHECK_INT(last.values->integer, INT64_MIN);
        CHECK_INT(read_text("9223372036854775808"), 0);
        CHECK(!last.values->is_integer);
        CHECK(last.values->real == 9223372036854775808.0);
        CHECK_INT(read_text("1.0"), 0);
        CHECK(!last.values->is_integer);
        CHECK_INT(read_text("1e400"), -EINVAL);
}

TEST(strings_are_unescaped)
{
        CHECK_INT(read_text("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e4\\u20AC\""), 0);
        CHECK_STR(last.values->text, "a\"\\/\b\f\n\r\t\xc3\xa4\xe2\x82\xac");
        CHECK_INT(read_text("\"\\ud83d\\ude00 \xf0\x9f\x98\x80\""), 0);
        CHECK_STR(last.values->text, "\xf0\x9f\x98\x80 \xf0\x9f\x98\x80");
        CHECK_INT(read_text("\"\""), 0);
        CHECK_INT(last.values->len, 0);
        CHECK_STR(last.values->text, "");
        CHECK_INT(read_text("\"a\\u0000b\""), 0);
        CHECK_INT(last.values->len, 3);
        CHECK(!memcmp(last.values->text, "a\0b", 4));
}

TEST(members_are_found)
{
        int64_t n = 0;
        double d = 0;
        CHECK_INT(read_text("{\"a\": {\"deep\": [1, 2, {\"x\": []}]}, \"b\": true, \"n\": 42, \"s\": \"t\", "
                            "\"z\": null, \"r\": 0.5, \"\": 1}"),
                  0);
        const struct json_value *o = last.values;
        CHECK_INT(o->n, 7);
        CHECK(json_get_bool(o, "b"));
        CHECK(json_get_integer(o, "n", &n));
        CHECK_INT(n, 42);
        CHECK(json_get_real(o, "r", &d));
        CHECK(d == 0.5);
        CHECK_STR(json_get_string(o, "s"), "t");
        CHECK(json_get(o, "") != NULL);
        const struct json_value *list = json_get(json_get(o, "a"), "deep");
        CHECK(list && list->type == JSON_ARRAY);
        CHECK_INT(list->n, 3);
        int seen = 0;
        for (const struct json_value *v = json_first(list); v; v = json_next(list, v))
                seen++;
        CHECK_INT(seen, 3);
}

TEST(what_is_not_there_is_nothing)
{
        int64_t n = 7;
        CHECK_INT(read_text("{\"a\": \"1\", \"f\": 1.5}"), 0);
        CHECK(json_get(last.values, "b") == NULL);
        CHECK(json_get(json_get(last.values, "b"), "c") == NULL);
        CHECK(json_get(json_get(last.values, "a"), "c") == NULL);
        CHECK(json_get_string(last.values, "f") == NULL);
        CHECK(!json_get_integer(last.values, "a", &n));
        CHECK(!json_get_integer(last.values, "f", &n));
        CHECK(!json_get_bool(last.values, "a"));
        CHECK_INT(n, 7);
        CHECK(json_first(json_get(last.values, "a")) == NULL);
        CHECK(json_first(NULL) == NULL);
        CHECK_INT(read_text("{}"), 0);
        CHECK(json_first(last.values) == NULL);
}

TEST(what_is_not_json_is_refused)
{
        static const char *const bad[] = {
                "",
                " ",
                "{",
                "}",
                "[1",
                "[1,]",
                "[,1]",
                "{\"a\"}",
                "{\"a\":}",
                "{\"a\":1,}",
                "{a:1}",
                "{'a':1}",
                "nul",
                "nulll",
                "True",
                "01",
                "+1",
                "1.",
                ".5",
                "-",
                "1e",
                "1e+",
                "--1",
                "0x1",
                "NaN",
                "Infinity",
                "\"",
                "\"a",
                "\"\\\"",
                "\"\\x\"",
                "\"\\u12\"",
                "\"\\u12g4\"",
                "\"\\ud800\"",
                "\"\\udc00\"",
                "\"\\ud800\\n\"",
                "\"\\ud800\\u0041\"",
                "\"\\ud800\\ud800\"",
                "\"a\nb\"",
                "\"\x01\"",
                "[1] 2",
                "1 2",
                "[1 2]",
                "{\"a\" 1}",
                "// c\n1",
                "[\"a\",]",
                "\"\xff\"",
                "\"\xc0\x80\"",
                "\"\xed\xa0\x80\"",
                "\"\xf4\x90\x80\x80\"",
                "\"\xc3\"",
                "\xef\xbb\xbf{}",
                "[}",
                "{]",
                "\f1",
        };
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                int r = read_text(bad[i]);
                if (r != -EINVAL)
                        printf("FAIL '%s' gives %d\n", bad[i], r);
                CHECK_INT(r, -EINVAL);
                CHECK(last.values == NULL);
        }
        CHECK_INT(read_len("1\0", 2, 10), -EINVAL);
        CHECK_INT(read_len("\"a\0b\"", 5, 10), -EINVAL);
}

TEST(every_beginning_of_a_document_is_refused)
{
        static const char text[] =
                "{\"a\": [1, -2.5e3, \"\\u00e4\\ud83d\\ude00\\n\", true, false, null], \"b\": {}}";
        CHECK_INT(read_text(text), 0);
        for (size_t len = 0; len < sizeof text - 1; len++)
                CHECK_INT(read_len(text, len, 100), -EINVAL);
}

TEST(depth_has_a_maximum)
{
        char text[200];
        for (int depth = 63; depth <= 66; depth++) {
                memset(text, '[', (size_t)depth);
                memset(text + depth, ']', (size_t)depth);
                text[2 * depth] = '\0';
                CHECK_INT(read_text(text), depth <= JSON_DEPTH_MAX ? 0 : -E2BIG);
        }
        /* Beside each other is not inside each other. */
        CHECK_INT(read_text("[[],[],[[]],[]]"), 0);
        char *many = malloc(1000001);
        memset(many, '[', 1000000);
        many[1000000] = '\0';
        CHECK_INT(read_text(many), -E2BIG);
        free(many);
}

TEST(values_have_a_maximum)
{
        CHECK_INT(read_len("[1,2,3]", 7, 4), 0);
        CHECK_INT(read_len("[1,2,3]", 7, 3), -E2BIG);
        CHECK_INT(read_len("{\"a\":1}", 7, 3), 0);
        CHECK_INT(read_len("{\"a\":1}", 7, 2), -E2BIG);
        free(last_text);
        last_text = NULL;
        json_doc_done(&last);
}
