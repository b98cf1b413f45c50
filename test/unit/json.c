#include "base/json.h"

#include "test.h"

static char *written;
static size_t written_len;

static struct json begin(void)
{
        return (struct json){.out = open_memstream(&written, &written_len)};
}

static void expect(struct json *j, const char *text)
{
        fclose(j->out);
        CHECK_STR(written, text);
        free(written);
        written = NULL;
}

TEST(objects_and_arrays_are_separated)
{
        struct json j = begin();
        json_put_open(&j, NULL, '{');
        json_put_number(&j, "a", 1);
        json_put_open(&j, "b", '[');
        json_put_bool(&j, NULL, true);
        json_put_null(&j, NULL);
        json_put_close(&j, ']');
        json_put_real(&j, "c", 0.5);
        json_put_close(&j, '}');
        expect(&j, "{\"a\": 1, \"b\": [true, null], \"c\": 0.500}");
}

TEST(control_characters_are_escaped)
{
        struct json j = begin();
        json_put_bytes(&j, NULL, "\"\\\n\t\0\x1b\x7f", 7);
        expect(&j, "\"\\\"\\\\\\n\\t\\u0000\\u001b\\u007f\"");
}

TEST(valid_utf8_stays)
{
        struct json j = begin();
        json_put_string(&j, NULL, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf");
        expect(&j, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xf4\x8f\xbf\xbf\"");
}

#define R "\xef\xbf\xbd"

TEST(invalid_utf8_becomes_the_replacement_character)
{
        static const struct {
                const char *in, *out;
        } cases[] = {
                {"\xff", R},                   /* never occurs */
                {"\xc0\x80", R R},             /* overlong NUL */
                {"\xe0\x80\xaf", R R R},       /* overlong slash */
                {"\xed\xa0\x80", R R R},       /* a surrogate */
                {"\xf4\x90\x80\x80", R R R R}, /* past U+10FFFF */
                {"\xe2\x82", R R},             /* cut off */
                {"a\xc3z", "a" R "z"},         /* lead byte alone */
                {"\x80\xbf", R R},             /* continuation alone */
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                char quoted[64];
                struct json j = begin();
                snprintf(quoted, sizeof quoted, "\"%s\"", cases[i].out);
                json_put_string(&j, NULL, cases[i].in);
                expect(&j, quoted);
        }
}
