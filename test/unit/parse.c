#include "base/parse.h"

#include "test.h"

static long long bytes(const char *text)
{
        uint64_t value = 0;
        int r = parse_bytes(text, &value);
        return r < 0 ? r : (long long)value;
}

static long long ms(const char *text)
{
        uint64_t value = 0;
        int r = parse_milliseconds(text, &value);
        return r < 0 ? r : (long long)value;
}

TEST(sizes_are_powers_of_1024)
{
        CHECK_INT(bytes("0"), 0);
        CHECK_INT(bytes("4096"), 4096);
        CHECK_INT(bytes("4K"), 4096);
        CHECK_INT(bytes("4k"), 4096);
        CHECK_INT(bytes("1.5M"), 1572864);
        CHECK_INT(bytes("2G"), 2147483648);
        CHECK_INT(bytes("1T"), 1099511627776);
        CHECK_INT(bytes("100kb"), 102400);
        CHECK_INT(bytes("1.5MiB"), 1572864);
        CHECK_INT(bytes("7b"), 7);
}

TEST(times_have_units)
{
        CHECK_INT(ms("5"), 5000);
        CHECK_INT(ms("5s"), 5000);
        CHECK_INT(ms("250ms"), 250);
        CHECK_INT(ms("1.5s"), 1500);
        CHECK_INT(ms("2m"), 120000);
        CHECK_INT(ms("1h"), 3600000);
}

TEST(nonsense_is_refused)
{
        static const char *const bad[] = {"",   "K",     "-1", "1 K", "1BK", "0x10", "1e9", "1.",
                                          ".5", "1.5.5", "+1", " 1",  "1M ", "NaN",  "1..2"};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                if (bytes(bad[i]) != -EINVAL)
                        printf("FAIL size '%s'\n", bad[i]);
                CHECK_INT(bytes(bad[i]), -EINVAL);
        }
        CHECK_INT(ms("5 s"), -EINVAL);
        CHECK_INT(ms("5d"), -EINVAL);
}

TEST(values_that_do_not_fit_are_out_of_range)
{
        CHECK_INT(bytes("18446744073709551616"), -ERANGE);
        CHECK_INT(bytes("18446744073709551615G"), -ERANGE);
        CHECK_INT(ms("99999999999999999h"), -ERANGE);
}

TEST(counts_are_whole)
{
        uint64_t value;
        CHECK_INT(parse_count("64", &value), 0);
        CHECK_INT(parse_count("6.4", &value), -EINVAL);
        CHECK_INT(parse_count("64K", &value), -EINVAL);
        CHECK_INT(parse_thousandths("0.25", &value), 0);
        CHECK_INT((long long)value, 250);
}

TEST(the_nearest_word_is_found_and_a_far_one_is_not)
{
        static const char *const words[] = {"timeout", "memory", "mount", NULL};
        CHECK_STR(parse_nearest("timout", words, 4, sizeof *words), "timeout");
        CHECK_STR(parse_nearest("mont", words, 4, sizeof *words), "mount");
        CHECK_STR(parse_nearest("tiemotu", words, 4, sizeof *words), "timeout");
        CHECK(parse_nearest("emomry", words, 4, sizeof *words) != NULL);
        CHECK(parse_nearest("zzzzzz", words, 4, sizeof *words) == NULL);
        CHECK(parse_nearest("a-word-that-is-much-longer-than-all-options-there-are", words, 4,
                            sizeof *words) == NULL);
}
