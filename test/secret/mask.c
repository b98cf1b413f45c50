/* test/secret/mask.c -- masking: every form, every cut into chunks, beside the reference, and within its
 * bounds. */
#include "secret/mask.h"

#include "../unit/test.h"
#include "encode.h"
#include "reference.h"
#include "secret/form.h"

#define TEXT_MAX (1u << 17)

static struct cella_err err;

/* Divides the amount of work under sanitizers and valgrind. */
static unsigned slower(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        return 4;
#endif
        return getenv("CELLA_TEST_SLOW") ? 16 : 1;
}

static struct mask *masks(const struct mask_value *values, size_t n)
{
        struct mask *mask = NULL;
        memset(&err, 0, sizeof err);
        CHECK_INT(mask_new(values, n, &mask, &err), 0);
        CHECK_STR(err.msg, "");
        return mask;
}

static struct mask *mask_of(const char *value)
{
        const struct mask_value one = {value, strlen(value)};
        return masks(&one, 1);
}

/* Feeds text in chunks that end at each of the cuts. */
static size_t in_chunks(struct mask *mask, const char *text, size_t len, const size_t *cuts, size_t n_cuts,
                        char *out)
{
        struct mask_stream *stream = NULL;
        size_t used = 0, at = 0;
        CHECK_INT(mask_stream_new(mask, &stream, &err), 0);
        for (size_t i = 0; i <= n_cuts; i++) {
                size_t end = i < n_cuts ? cuts[i] : len;
                /* A copy of exact size, so that a sanitizer reports a read past its end. */
                char *chunk = malloc(end - at + 1);
                const char *data = memcpy(chunk, text + at, end - at);
                size_t n = mask_feed(stream, &data, end - at);
                if (n > 0)
                        memcpy(out + used, data, n);
                used += n;
                free(chunk);
                at = end;
        }
        const char *rest = NULL;
        size_t n = mask_flush(stream, &rest);
        memcpy(out + used, rest, n);
        mask_stream_free(stream);
        return used + n;
}

static void check_text(const char *is, size_t is_len, const char *should, size_t should_len, const char *what)
{
        if (is_len == should_len && !memcmp(is, should, is_len))
                return;
        if (test_fail(__FILE__, __LINE__))
                printf("%s: \"%.*s\" instead of \"%.*s\"\n", what, (int)is_len, is, (int)should_len, should);
}

/* Masks text in one chunk, in two (every cut), in three (every pair of cuts, if it is short), and byte by
 * byte. */
static void check_cuts(struct mask *mask, const char *text, size_t len, const char *should, size_t should_len)
{
        char *out = malloc(len + 1);
        size_t *all = calloc(len + 1, sizeof *all);
        check_text(out, in_chunks(mask, text, len, NULL, 0, out), should, should_len, "in one piece");
        for (size_t i = 0; i <= len; i++) {
                size_t cuts[2] = {i, i};
                all[i] = i;
                check_text(out, in_chunks(mask, text, len, cuts, 1, out), should, should_len, "in two");
                for (size_t k = i; k <= len && len <= 80; k += slower()) {
                        cuts[1] = k;
                        check_text(out, in_chunks(mask, text, len, cuts, 2, out), should, should_len,
                                   "in three");
                }
        }
        check_text(out, in_chunks(mask, text, len, all, len, out), should, should_len, "byte by byte");
        memcpy(out, text, len);
        check_text(out, mask_text(mask, out, len), should, should_len, "as a whole");
        free(all);
        free(out);
}

static void check_string(const char *value, const char *text, const char *should)
{
        AUTO(mask_free) struct mask *mask = mask_of(value);
        int before = test_failures;
        check_cuts(mask, text, strlen(text), should, strlen(should));
        if (test_failures > before)
                printf("  (value %s, text %s)\n", value, text);
}

#define AWKWARD "p4ss w/rd+\"\xc3\xa9\n-Zq~\xc3\xbc?>"
#define LONG_VALUE "sk-proj-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_end"

TEST(every_form_is_masked)
{
        static const struct {
                const char *value, *text, *should;
        } table[] = {
                {"hunter2", "hunter2", "***"},
                {"hunter2", "", ""},
                {"hunter2", "nothing", "nothing"},
                {"hunter2", "a hunter2 b hunter2", "a *** b ***"},
                {"hunter2", "hunter2hunter2", "******"},
                {"hunter2", "hunterhunter2", "hunter***"},
                {"hunter2", "hunter", "hunter"},
                {"hunter2", "HUNTER2", "HUNTER2"},
                {"abcd", "abcabcd", "abc***"},
                /* overlapping ones of the same */
                {"abab", "xababababx", "x***x"},
                {"aaaa", "aaaaaaaaab", "***b"},
                {"aaaa", "aaabaaa", "aaabaaa"},
                /* white space around the value */
                {"  token-1\n", "token-1 ", "*** "},
                {" to ken\r\n", "[to ken]", "[***]"},
                /* unchanged, and as a terminal shows it */
                {"line 1\nline 2", "line 1\nline 2", "***"},
                {"line 1\nline 2", "line 1\r\nline 2\r\n", "***\r\n"},
                {"line 1\nline 2", "line 1\rline 2", "line 1\rline 2"},
                /* URLs: each encoder leaves others as they are */
                {AWKWARD, "?q=p4ss%20w/rd%2B%22%C3%A9%0A-Zq~%C3%BC%3F%3E&", "?q=***&"},
                {AWKWARD, "?q=p4ss+w%2Frd%2B%22%C3%A9%0A-Zq~%C3%BC%3F%3E&", "?q=***&"},
                {AWKWARD, "?q=p4ss%20w%2frd%2b%22%c3%a9%0a-Zq%7e%c3%bc%3f%3e&", "?q=***&"},
                {"hunter2", "%68%75%6e%74%65%72%32", "***"},
                {"hunter2", "%68%75%6E%74%65%72%32", "***"},
                {"hunter2", "%68u%6eter%32%", "***%"},
                {"hunter2", "%68u%6oter%32", "%68u%6oter%32"},
                {"100%", "100%25 100%", "*** ***"},
                {"50% off", "50%25+off", "***"},
                {"50% off", "50%%20off", "50%%20off"},
                /* JSON, and what languages print */
                {AWKWARD, "{\"k\": \"p4ss w/rd+\\\"\\u00e9\\n-Zq~\\u00fc?>\"}", "{\"k\": \"***\"}"},
                {AWKWARD, "{\"k\": \"p4ss w\\/rd+\\\"\xc3\xa9\\n-Zq~\\u00FC?\\u003e\"}", "{\"k\": \"***\"}"},
                {AWKWARD, "b'p4ss w/rd+\"\\xc3\\xa9\\n-Zq~\\xc3\\xbc?>'", "b'***'"},
                {AWKWARD, "'p4ss w/rd+\"\\xe9\\n-Zq~\\xfc?>'", "'***'"},
                {AWKWARD, "p4ss\\ w/rd+\\\"\xc3\xa9\\\n-Zq\\~\xc3\xbc\\?\\>", "***"},
                {"back\\slash", "back\\\\slash", "***"},
                {"back\\slash", "back\\slash", "***"},
                {"back\\slash", "back\\u005cslash", "***"},
                {"key \xf0\x9f\x94\x91!", "\"key \\ud83d\\udd11!\"", "\"***\""},
                {"key \xf0\x9f\x94\x91!", "'key \\U0001f511!'", "'***'"},
                {"key \xf0\x9f\x94\x91!", "\"key \\ud83d\\ud83d!\"", "\"key \\ud83d\\ud83d!\""},
                {"tab\there", "tab\\there \\u0074ab\\u0009here", "*** ***"},
                /* octal, as C, git, ls -b, bash and echo write it */
                {"hunter2", "\\150\\165\\156\\164\\145\\162\\062", "***"},
                {"hunter2", "hun\\164er2!", "***!"},
                {"hunter2", "\\0150\\0165\\0156\\0164\\0145\\0162\\0062", "***"},
                {"hunter2", "\\151unter2", "\\151unter2"},
                {"hunter2", "\\1500unter2", "\\1500unter2"},
                {AWKWARD, "\"p4ss w/rd+\\\"\\303\\251\\012-Zq~\\303\\274?>\"", "\"***\""},
                {AWKWARD, "'p4ss\\040w/rd+\"\\351\\n-Zq~\\374?>'", "'***'"},
                {AWKWARD, "p4ss w/rd+\"\\0303\\0251\\n-Zq~\\0303\\0274?>", "***"},
                {"\xc3\xa9t\xc3\xa9s", "$'\\303\\251t\\303\\251s'", "$'***'"},
                /* hex */
                {"hunter2", "68756e74657232", "***"},
                {"hunter2", "68756E74657232", "***"},
                {"hunter2", "x68756E74657232x", "x***x"},
                {"hunter2", "68 75 6e 74 65 72 32\n", "***\n"},
                {"hunter2", "68:75:6E:74:65:72:32", "***"},
                {"hunter2", " 68 75 6e\n 74 65 72 32", " ***"},
                {"hunter2", "6875 6e74 6572 32", "***"},
                {"hunter2", "6 8756e74657232", "6 8756e74657232"},
                {"hunter2", "68   756e74657232", "68   756e74657232"},
                /* base64, alone and within more of it */
                {"hunter2", "aHVudGVyMg==", "***"},
                {"hunter2", "aHVudGVyMg", "***"},
                {"hunter2", "aHVudGVyMg=", "***"},
                {"hunter2", "aHVudGVyMg===", "***="},
                {"hunter2", "eGh1bnRlcjI=", "eG***"},                  /* xhunter2: 1 byte before it */
                {"hunter2", "eHhodW50ZXIy", "eHh***"},                 /* xxhunter2 */
                {"hunter2", "dXNlcjpodW50ZXIyCg==", "dXNlcjp***Cg=="}, /* user:hunter2 */
                {"hunter2", "aHVudGVyMgo=", "***o="},                  /* with a newline */
                {AWKWARD, "cDRzcyB3L3JkKyLDqQotWnF+w7w/Pg==", "***"},
                {AWKWARD, "cDRzcyB3L3JkKyLDqQotWnF-w7w_Pg==", "***"},
                {AWKWARD, "cDRzcyB3L3JkKyLDqQotWnF-w7w_Pg", "***"},
                {AWKWARD, "cDRzcyB3L3JkKyLDqQotWnF%2Bw7w%2fPg%3D%3D", "***%3D%3D"},
                {AWKWARD, "cDRzcyB3L3JkKyLDqQotWnF+w7w\\/Pg==", "***"},
                {AWKWARD, "eHA0c3Mgdy9yZCsiw6kKLVpxfsO8Pz55eQ==", "eH***5eQ=="},
                {AWKWARD, "eHhwNHNzIHcvcmQrIsOpCi1acX7DvD8+eXk=", "eHh***eXk="},
                {AWKWARD, "eHhwNHNzIHcvcmQrIsOpCi1acX7DvD8-eXk=", "eHh***eXk="},
                /* base64 in lines */
                {LONG_VALUE,
                 "c2stcHJvai0wMTIzNDU2Nzg5YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXpBQkNERUZHSElKS0xN\n"
                 "Tk9QUVJTVFVWV1hZWl9lbmQ=\n",
                 "***\n"},
                {LONG_VALUE,
                 "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4c2st\r\n"
                 "cHJvai0wMTIzNDU2Nzg5YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXpBQkNERUZHSElKS0xNTk9Q\r\n"
                 "UVJTVFVWV1hZWl9lbmQ=\r\n",
                 "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4***\r\n"},
                /* ... where a line ends in the value's first group */
                {LONG_VALUE,
                 "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHNr\n"
                 "LXByb2otMDEyMzQ1Njc4OWFiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6QUJDREVGR0hJSktMTU5P\n"
                 "UFFSU1RVVldYWVpfZW5k\n",
                 "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHNr\n***\n"},
                {LONG_VALUE,
                 "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHhz\n"
                 "ay1wcm9qLTAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ekFCQ0RFRkdISUpLTE1O\n"
                 "T1BRUlNUVVZXWFlaX2VuZA==\n",
                 "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHhz\n***\n"},
        };
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
                check_string(table[i].value, table[i].text, table[i].should);
}

TEST(overlapping_values_are_masked)
{
        static const struct mask_value values[] = {
                {"password", 8}, {"word-of-mouth", 13}, {"pass", 4}, {"mouthful", 8}, {"ssword-of", 9}};
        static const struct {
                const char *text, *should;
        } table[] = {
                {"password-of-mouthful!", "***!"}, {"password passport", "*** ***port"},
                {"passpassword", "******"},        {"word-of-mout", "word-of-mout"},
                {"ssword-of-mouth", "***"},        {"pas sword-of", "pas sword-of"},
        };
        AUTO(mask_free) struct mask *mask = masks(values, 5);
        for (size_t i = 0; i < sizeof table / sizeof *table; i++)
                check_cuts(mask, table[i].text, strlen(table[i].text), table[i].should,
                           strlen(table[i].should));
}

static uint32_t random_state = 2463534242u;
static uint32_t random_below(uint32_t n)
{
        random_state ^= random_state << 13;
        random_state ^= random_state >> 17;
        random_state ^= random_state << 5;
        return random_state % n;
}

TEST(encoded_secrets_are_masked)
{
        for (int round = 0; round < 600 / (int)slower(); round++) {
                char value[128], text[1024], should[64], out[1100];
                size_t len = 4 + random_below(90);
                for (size_t i = 0; i < len; i++)
                        value[i] = (char)(round % 2 ? 33 + random_below(94) : 1 + random_below(255));
                value[0] = value[0] & 0x80 ? value[0] : (char)(value[0] | 0x40);
                value[len - 1] = 'e'; /* no white space around it */
                const struct mask_value one = {value, len};
                struct mask *mask = masks(&one, 1);
                for (unsigned how = 0; how < 32; how++) {
                        strcpy(text, "<");
                        encode(how, value, len, text + 1);
                        strcat(text, ">");
                        strcpy(should, "<***>");
                        size_t cut = random_below((uint32_t)strlen(text)), text_len = strlen(text);
                        check_text(out, in_chunks(mask, text, text_len, &cut, 1, out), should, strlen(should),
                                   text);
                }
                mask_free(mask);
        }
}

/* ---- beside the reference ---- */

static const char *const alphabets[] = {"ab",     "ab%\\",        "3%\\u06",
                                        "aW1 \n", "/+-_\xff\xfb", "abcdefgh%25 +\"\\\n"};

static size_t random_text(char *out, size_t max, const char *alphabet)
{
        size_t n = random_below((uint32_t)max + 1);
        for (size_t i = 0; i < n; i++)
                out[i] = alphabet[random_below((uint32_t)strlen(alphabet))];
        return n;
}

/* Random text: parts of encoded values, cut anywhere, with other text between them. */
static size_t random_mixture(const struct mask_value *values, size_t n, const char *alphabet, char *out,
                             size_t max)
{
        size_t used = 0;
        char part[1024];
        while (used + 400 < max && random_below(8)) {
                const struct mask_value *value = &values[random_below((uint32_t)n)];
                encode(random_below(32), value->text, value->len, part);
                size_t len = strlen(part), from = random_below(4) ? 0 : random_below((uint32_t)len + 1);
                size_t to = random_below(3) ? len : from + random_below((uint32_t)(len - from) + 1);
                memcpy(out + used, part + from, to - from);
                used += to - from;
                used += random_text(out + used, random_below(3) ? 0 : 12, alphabet);
        }
        return used;
}

TEST(the_mask_agrees_with_the_reference)
{
        unsigned long masked = 0, exact = 0;
        int rounds = 1000 / (int)slower();
        for (int round = 0; round < rounds; round++) {
                const char *alphabet = alphabets[random_below(6)];
                char texts[4][32], text[1600], out[1600], should[1600];
                struct mask_value values[4];
                size_t n = 1 + random_below(4), from;
                bool repeats = false;
                for (size_t i = 0; i < n; i++) {
                        do {
                                values[i] =
                                        (struct mask_value){texts[i], random_text(texts[i], 14, alphabet)};
                        } while (mask_trim(values[i].text, values[i].len, &from) < MASK_VALUE_MIN);
                        repeats |= reference_repeats(&values[i]);
                }
                size_t len = random_mixture(values, n, alphabet, text, 900);
                struct mask *mask = masks(values, n);
                size_t should_len = reference_mask(values, n, text, len, should);
                size_t cuts[4], out_len;
                for (size_t i = 0; i < 4; i++)
                        cuts[i] = (i ? cuts[i - 1] : 0) +
                                  random_below((uint32_t)(len - (i ? cuts[i - 1] : 0)) + 1);
                out_len = in_chunks(mask, text, len, cuts, 4, out);
                masked += should_len != len;
                exact += !repeats;
                if (repeats) { /* the result must not depend on the cuts */
                        should_len = len;
                        memcpy(should, text, len);
                        should_len = mask_text(mask, should, len);
                }
                check_text(out, out_len, should, should_len, "random");
                mask_free(mask);
        }
        CHECK(masked > (unsigned long)rounds / 2); /* otherwise the test would prove little */
        CHECK(exact > (unsigned long)rounds / 8);
}

/* ---- bounds ---- */

TEST(only_a_possible_beginning_of_a_secret_is_held_back)
{
        AUTO(mask_free) struct mask *mask = mask_of("hunter2");
        AUTO(mask_stream_free) struct mask_stream *stream = NULL;
        static const struct {
                const char *data;
                size_t go_on;
        } table[] = {{"step 1 done\n", 12}, {"> ", 2}, {"Zeile: \xc3\xa4", 9}, {"hunt", 0}, {"ing\n", 8},
                     {"hunter", 0},         {"2", 3}};
        CHECK_INT(mask_stream_new(mask, &stream, &err), 0);
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
                const char *data = table[i].data;
                CHECK_INT(mask_feed(stream, &data, strlen(data)), table[i].go_on);
        }
}

TEST(text_without_values_is_not_copied)
{
        AUTO(mask_free) struct mask *mask = mask_of("hunter2");
        AUTO(mask_stream_free) struct mask_stream *stream = NULL;
        const char text[] = "a line that is long enough\n", *data = text;
        CHECK_INT(mask_stream_new(mask, &stream, &err), 0);
        CHECK_INT(mask_feed(stream, &data, strlen(text)), strlen(text));
        CHECK(data == text);
}

TEST(without_secrets_there_is_no_mask)
{
        struct mask *mask = (struct mask *)&err;
        struct mask_stream *stream = (struct mask_stream *)&err;
        char text[] = "text";
        const char *data = text;
        CHECK_INT(mask_new(NULL, 0, &mask, &err), 0);
        CHECK(mask == NULL);
        CHECK_INT(mask_stream_new(mask, &stream, &err), 0);
        CHECK(stream == NULL);
        CHECK_INT(mask_feed(stream, &data, 4), 4);
        CHECK(data == text);
        CHECK_INT(mask_flush(stream, &data), 0);
        CHECK_INT(mask_text(mask, text, 4), 4);
        mask_string(mask, text);
        CHECK_STR(text, "text");
        mask_stream_free(stream);
        mask_free(mask);
}

TEST(messages_are_masked_in_place)
{
        AUTO(mask_free) struct mask *mask = mask_of("hunter2");
        char text[64] = "cannot open 'aHVudGVyMg==': hunter2", empty[4] = "";
        mask_string(mask, text);
        CHECK_STR(text, "cannot open '***': ***");
        mask_string(mask, empty);
        CHECK_STR(empty, "");
}

TEST(values_have_bounds)
{
        static char large[MASK_VALUE_MAX + 1];
        struct mask_value values[MASK_VALUES_MAX + 1];
        struct mask *mask = NULL;
        memset(large, 'x', sizeof large);
        for (size_t i = 0; i <= MASK_VALUES_MAX; i++)
                values[i] = (struct mask_value){"value", 5};
        CHECK_INT(mask_new(values, MASK_VALUES_MAX + 1, &mask, &err), -E2BIG);
        CHECK_INT(mask_new(values, MASK_VALUES_MAX, &mask, &err), 0);
        mask = mask_free(mask);
        values[0] = (struct mask_value){" abc\n", 5};
        CHECK_INT(mask_new(values, 1, &mask, &err), -EINVAL);
        values[0] = (struct mask_value){large, MASK_VALUE_MAX + 1};
        CHECK_INT(mask_new(values, 1, &mask, &err), -E2BIG);
        for (size_t i = 0; i < 5; i++)
                values[i] = (struct mask_value){large, MASK_VALUE_MAX};
        CHECK_INT(mask_new(values, 4, &mask, &err), 0);
        mask = mask_free(mask);
        CHECK_INT(mask_new(values, 5, &mask, &err), -E2BIG);
        CHECK(mask == NULL);
}

static double seconds(void)
{
        struct timespec ts;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
        return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Repetitive values in texts that almost match them: the time must stay linear. */
TEST(repeating_values_cost_no_more)
{
        static char value[MASK_VALUE_MAX], text[TEXT_MAX], out[TEXT_MAX];
        static const char *const periods[] = {"a", "3", "YWFh", "abcabd", "\xff"};
        size_t size = TEXT_MAX / slower();
        double begun = seconds();
        for (size_t p = 0; p < sizeof periods / sizeof *periods; p++) {
                const struct mask_value one = {value, sizeof value};
                size_t n = strlen(periods[p]);
                for (size_t i = 0; i < sizeof value; i++)
                        value[i] = periods[p][i % n];
                struct mask *mask = masks(&one, 1);
                for (unsigned how = 0; how < 6; how++) {
                        char part[512];
                        char copy[17] = "";
                        for (size_t i = 0; i < 12; i++)
                                copy[i] = periods[p][i % n];
                        encode(how, copy, 12, part);
                        for (size_t i = 0; i < size; i++)
                                text[i] = i % 60000 == 59999 && how % 2 ? '!' : part[i % strlen(part)];
                        memcpy(out, text, size);
                        size_t whole = mask_text(mask, out, size), cuts[200];
                        for (size_t i = 0; i < 200; i++)
                                cuts[i] = size / 200 * i;
                        CHECK_INT(in_chunks(mask, text, size, cuts, 200, out), whole);
                }
                mask_free(mask);
        }
        CHECK(seconds() - begun < 30); /* a quadratic version took hours */
}

TEST(a_long_value_is_masked_byte_by_byte)
{
        static char value[MASK_VALUE_MAX], text[MASK_VALUE_MAX + 1];
        const struct mask_value one = {value, sizeof value};
        size_t held = 0;
        for (size_t i = 0; i < sizeof value; i++)
                value[i] = (char)(33 + random_below(94));
        memcpy(text, value, sizeof value);
        text[MASK_VALUE_MAX - 1] ^= 1; /* nearly */
        AUTO(mask_free) struct mask *mask = masks(&one, 1);
        AUTO(mask_stream_free) struct mask_stream *stream = NULL;
        CHECK_INT(mask_stream_new(mask, &stream, &err), 0);
        for (size_t i = 0; i < sizeof value; i++) {
                const char *data = &text[i];
                held += 1 - mask_feed(stream, &data, 1);
                if (i == sizeof value - 2)
                        CHECK_INT(held, sizeof value - 1);
        }
        CHECK(held <= 1); /* all of it came out at once */
        for (size_t i = 0; i < sizeof value; i++) {
                const char *data = &value[i];
                size_t n = mask_feed(stream, &data, 1);
                CHECK(n <= 1 || (n <= 4 && i == sizeof value - 1));
        }
}

/* The bitmap of first bytes must contain every byte that can begin a form. */
TEST(every_form_begins_with_a_byte_of_the_bitmap)
{
        for (int round = 0; round < 1 + 60 / (int)slower(); round++) {
                char value[8];
                for (size_t i = 0; i < sizeof value; i++)
                        value[i] = (char)(round % 3 ? random_below(256)
                                                    : (unsigned)"%\\ +/\n\xfb\xff"[random_below(8)]);
                for (unsigned which = 0; which < FORMS_OF_VALUE; which++) {
                        struct form form;
                        char bytes[FORM_BYTES_MAX];
                        bool listed[256] = {false};
                        if (!form_init(&form, which, value, sizeof value))
                                continue;
                        size_t n = form_first_bytes(&form, bytes);
                        CHECK(n <= FORM_BYTES_MAX);
                        for (size_t i = 0; i < n; i++)
                                listed[(unsigned char)bytes[i]] = true;
                        for (unsigned pair = 0; pair < 65536; pair++) {
                                const char text[2] = {(char)(pair & 255), (char)(pair >> 8)};
                                uint32_t symbols;
                                int r = form_read(&form, 0, text, 2, &symbols);
                                if (r == 1 && form_read(&form, symbols, text + 1, 1, &symbols) == 0)
                                        r = 0;
                                if (r != 0)
                                        CHECK(listed[pair & 255] && listed[pair >> 8]);
                        }
                }
        }
}
