#include "base/keep.h"

#include "test.h"

static void add(struct keep *k, const char *text)
{
        keep_add(k, text, strlen(text));
}

static char *taken(struct keep *k)
{
        char *data = NULL, *text;
        size_t len = 0;
        CHECK_INT(keep_take(k, &data, &len), 0);
        text = calloc(1, len + 1);
        if (len > 0)
                memcpy(text, data, len);
        free(data);
        return text;
}

TEST(keeps_everything_up_to_the_maximum)
{
        struct keep k;
        keep_init(&k, 10);
        add(&k, "01234");
        add(&k, "56789");
        CHECK(!keep_truncated(&k));
        char *text = taken(&k);
        CHECK_STR(text, "0123456789");
        free(text);
        keep_done(&k);
}

TEST(keeps_the_first_and_the_last_half)
{
        struct keep k;
        keep_init(&k, 10);
        for (char c = 'a'; c <= 'z'; c++)
                keep_add(&k, &c, 1);
        CHECK(keep_truncated(&k));
        CHECK_INT((long long)k.total, 26);
        char *text = taken(&k);
        CHECK_STR(text, "abcde\n[... 16 bytes left out ...]\nvwxyz");
        free(text);
        keep_done(&k);
}

TEST(one_large_block_is_like_many_small_ones)
{
        struct keep whole, parts;
        char block[10007];
        for (size_t i = 0; i < sizeof block; i++)
                block[i] = (char)('a' + i % 23);
        keep_init(&whole, 1001);
        keep_init(&parts, 1001);
        keep_add(&whole, block, sizeof block);
        for (size_t at = 0; at < sizeof block; at += 7)
                keep_add(&parts, block + at, sizeof block - at < 7 ? sizeof block - at : 7);
        char *a = taken(&whole), *b = taken(&parts);
        CHECK_STR(a, b);
        free(a);
        free(b);
        keep_done(&whole);
        keep_done(&parts);
}

TEST(a_maximum_of_zero_counts_and_keeps_nothing)
{
        struct keep k;
        keep_init(&k, 0);
        add(&k, "abc");
        CHECK(keep_truncated(&k));
        char *text = taken(&k);
        CHECK_STR(text, "\n[... 3 bytes left out ...]\n");
        free(text);
        keep_done(&k);
}

TEST(memory_does_not_grow_past_the_maximum)
{
        struct keep k;
        char block[4096] = {0};
        keep_init(&k, 100000);
        for (int i = 0; i < 1000; i++)
                keep_add(&k, block, sizeof block);
        CHECK(k.size <= 100000);
        keep_done(&k);
}
