#include "base/json.h"

#include "base/utf8.h"
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

/* The reference: escapes one character after the other. */
static void plainly(FILE *out, const char *data, size_t len)
{
        putc('"', out);
        for (size_t i = 0; i < len;) {
                unsigned char c = (unsigned char)data[i];
                size_t n = utf8_len(data + i, len - i);
                const char *found = c ? strchr("\nn\rr\tt\"\"\\\\", c) : NULL;
                if (n == 0)
                        fputs(R, out);
                else if (found && c != 'n' && c != 'r' && c != 't')
                        fprintf(out, "\\%c", found[1]);
                else if (c < 0x20 || c == 0x7f)
                        fprintf(out, "\\u%04x", c);
                else
                        fwrite(data + i, 1, n, out);
                i += n > 0 ? n : 1;
        }
        putc('"', out);
}

TEST(strings_are_escaped_as_by_a_plain_reference)
{
        static const char odd[] = "\n\r\t\"\\\x01\x1f\x7f\x80\xff\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 x";
        char text[9000];
        uint32_t state = 1;
        for (int i = 0; i < 4000; i++) {
                char *other = NULL;
                size_t other_len = 0, len = i < 3900 ? (size_t)i % 40 : sizeof text - (size_t)i % 40;
                for (size_t k = 0; k < len; k++) {
                        state = state * 1664525 + 1013904223;
                        text[k] = (char)((state >> 24) % 4 == 0    ? odd[(state >> 16) % (sizeof odd - 1)]
                                         : (state >> 24) % 64 == 1 ? (char)(state >> 16)
                                                                   : 'a');
                }
                struct json j = begin();
                json_put_bytes(&j, NULL, text, len);
                FILE *out = open_memstream(&other, &other_len);
                plainly(out, text, len);
                fclose(out);
                expect(&j, other);
                free(other);
        }
}

TEST(a_long_text_goes_into_memory)
{
        for (size_t expected = 0; expected < 300000; expected += 60000) {
                struct json_text text;
                struct json j = {.out = json_text_open(&text, expected)};
                CHECK(j.out != NULL);
                json_put_open(&j, NULL, '[');
                for (int i = 0; i < 20000; i++)
                        json_put_string(&j, NULL, "0123456\n");
                json_put_close(&j, ']');
                CHECK_INT(fclose(j.out), 0);
                CHECK_INT(text.len, 20000 * 13);
                CHECK(text.data && strlen(text.data) == text.len && text.data[text.len - 1] == ']');
                free(text.data);
        }
}
