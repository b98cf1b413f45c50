#include "base/foreign_json.h"

#include <errno.h>
#include <stdlib.h>

#include "test.h"

static struct cella_err last;

/* Parses a copy on the heap of exactly its size, so that a sanitizer finds a read past the end. */
static json_t *parse_len(const char *text, size_t len, size_t max, size_t flags)
{
        char *copy = malloc(len ? len : 1);
        memcpy(copy, text, len);
        last = (struct cella_err){0};
        json_t *value = foreign_json_parse(copy, len, max, flags, &last);
        free(copy);
        return value;
}

static json_t *parse(const char *text)
{
        return parse_len(text, strlen(text), 100000, 0);
}

static bool is_refused(const char *text, size_t len, size_t max, enum cella_kind kind)
{
        json_t *value = parse_len(text, len, max, 0);
        const bool refused = !value && last.kind == kind && last.msg[0];
        json_decref(value);
        return refused;
}

TEST(integers_are_exact_or_refused)
{
        static const struct {
                const char *text;
                int64_t value;
        } good[] = {{"{\"n\":9223372036854775807}", INT64_MAX},
                    {"{\"n\":-9223372036854775808}", INT64_MIN},
                    {"{\"n\":-0}", 0}};
        int64_t n = 7;
        for (size_t i = 0; i < ARRAY_LEN(good); i++) {
                json_t *value = parse(good[i].text);
                CHECK(foreign_json_get_integer(value, "n", &n));
                CHECK_INT(n, good[i].value);
                json_decref(value);
        }
        static const char *const bad[] = {"9223372036854775808", "-9223372036854775809", "1e400", "-1e400"};
        for (size_t i = 0; i < ARRAY_LEN(bad); i++)
                CHECK(is_refused(bad[i], strlen(bad[i]), 10, CELLA_INVALID_REQUEST));
        json_t *value = parse_len("18446744073709551615", 20, 10, JSON_DECODE_INT_AS_REAL);
        CHECK(json_real_value(value) == 18446744073709551616.0);
        json_decref(value);
        value = parse("{\"f\":1.0}");
        CHECK(!foreign_json_get_integer(value, "f", &n));
        json_decref(value);
}

TEST(strings_with_a_nul_are_no_text)
{
        json_auto_t *value = parse("{\"a\":\"x\\u0000y\",\"b\":\"\\ud83d\\ude00\",\"n\":1,\"z\":null}");
        CHECK(value != NULL);
        CHECK(foreign_json_get_text(value, "a") == NULL);
        CHECK_INT(json_string_length(json_object_get(value, "a")), 3);
        CHECK_STR(foreign_json_get_text(value, "b"), "\xf0\x9f\x98\x80");
        CHECK(foreign_json_get_text(value, "n") == NULL && foreign_json_get_text(value, "c") == NULL);
        CHECK(foreign_json_get_text(NULL, "a") == NULL && foreign_json_text(NULL) == NULL);
        CHECK(foreign_json_is_absent(value, "z") && foreign_json_is_absent(value, "c") &&
              !foreign_json_is_absent(value, "n"));
}

TEST(invalid_json_is_refused)
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
                "\"\xff\"",
                "\"\xc0\x80\"",
                "\"\xed\xa0\x80\"",
                "\"\xf4\x90\x80\x80\"",
                "\"\xc3\"",
                "\xef\xbb\xbf{}",
                "[}",
                "{]",
                "\f1",
                /* keys */
                "{\"a\":1,\"a\":1}",
                "{\"a\":1,\"\\u0061\":2}",
                "{\"x\":{\"a\":1,\"a\":1}}",
                "{\"a\\u0000b\":1}",
                "{\"\xff\":1}",
        };
        for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
                if (!is_refused(bad[i], strlen(bad[i]), 100, CELLA_INVALID_REQUEST)) {
                        printf("FAIL '%s'\n", bad[i]);
                        CHECK(false);
                }
        }
        CHECK(is_refused("1\0", 2, 10, CELLA_INVALID_REQUEST));
        CHECK(is_refused("[1]\0x", 5, 10, CELLA_INVALID_REQUEST));
        CHECK(is_refused("\"a\0b\"", 5, 10, CELLA_INVALID_REQUEST));
}

TEST(every_truncated_document_is_refused)
{
        static const char text[] =
                "{\"a\": [1, -2.5e3, \"\\u00e4\\ud83d\\ude00\\n\", true, false, null], \"b\": {}}";
        json_t *value = parse(text);
        CHECK(value != NULL);
        json_decref(value);
        for (size_t len = 0; len < sizeof text - 1; len++)
                CHECK(is_refused(text, len, 100, CELLA_INVALID_REQUEST));
}

TEST(depth_has_a_maximum)
{
        const size_t huge = 1000000;
        char *text = malloc(2 * huge);
        for (size_t depth = FOREIGN_JSON_DEPTH_MAX - 1; depth <= FOREIGN_JSON_DEPTH_MAX + 2; depth++) {
                memset(text, '[', depth);
                memset(text + depth, ']', depth);
                json_t *value = parse_len(text, 2 * depth, huge, 0);
                CHECK((value != NULL) == (depth <= FOREIGN_JSON_DEPTH_MAX));
                CHECK(value || last.kind == CELLA_TOO_LARGE);
                json_decref(value);
        }
        memset(text, '[', huge);
        CHECK(is_refused(text, huge, 2 * huge, CELLA_TOO_LARGE));
        for (size_t i = 0; i < huge; i++)
                memcpy(text + 2 * i, "[]", 2); /* beside each other */
        CHECK(is_refused(text, 2 * huge, 2 * huge, CELLA_INVALID_REQUEST));
        memset(text, '[', huge); /* in a string */
        text[0] = text[huge - 1] = '"';
        json_t *value = parse_len(text, huge, 1, 0);
        CHECK_INT(json_string_length(value), huge - 2);
        json_decref(value);
        free(text);
}

/* Whatever jansson allocates is proportional to the number of values and the length of the text. */
TEST(the_number_of_values_has_a_maximum)
{
        static const char text[] = "[1,{\"a\":[],\"b,:[{\":2}]";
        const size_t huge = 1000000;
        size_t least = 0;
        json_t *value = NULL;
        while (!value && ++least < 100)
                value = parse_len(text, sizeof text - 1, least, 0);
        CHECK(value != NULL && least >= 5 && least <= 10);
        json_decref(value);
        CHECK(is_refused(text, sizeof text - 1, least - 1, CELLA_TOO_LARGE));
        char *many = malloc(2 * huge);
        for (size_t i = 0; i < huge; i++)
                memcpy(many + 2 * i, i == 0 ? "[1" : ",1", 2);
        CHECK(is_refused(many, 2 * huge, huge / 2, CELLA_TOO_LARGE));
        free(many);
}
