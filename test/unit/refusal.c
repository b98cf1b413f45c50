#include "core/refusal.h"

#include "test.h"

static struct refusals refusals;

/* How many of so many refused requests get a row. */
static unsigned taken(const char *key, unsigned n, int64_t now_ms, uint64_t *ret_unrecorded)
{
        unsigned rows = 0;
        uint64_t unrecorded = 0;
        *ret_unrecorded = 0;
        for (unsigned i = 0; i < n; i++)
                if (refusals_take(&refusals, key, now_ms, &unrecorded)) {
                        rows++;
                        *ret_unrecorded += unrecorded;
                }
        return rows;
}

TEST(a_key_has_a_burst_and_then_one_a_minute)
{
        uint64_t unrecorded;
        refusals = (struct refusals){0};
        CHECK_INT(taken("key_a", 1000, 1, &unrecorded), REFUSALS_BURST);
        CHECK_INT(unrecorded, 0);
        CHECK_INT(taken("key_a", 1000, REFUSALS_EVERY_MS, &unrecorded), 0);
        CHECK_INT(taken("key_a", 1000, REFUSALS_EVERY_MS + 1, &unrecorded), 1);
        CHECK_INT(unrecorded, 1900); /* requests without a row are reported once */
        CHECK_INT(taken("key_a", 1000, 3 * REFUSALS_EVERY_MS + 1, &unrecorded), 2);
        CHECK_INT(unrecorded, 999);
        /* After a long time the burst is back, and no more. */
        CHECK_INT(taken("key_a", 1000, INT64_C(100000) * REFUSALS_EVERY_MS, &unrecorded), REFUSALS_BURST);
}

TEST(a_key_does_not_use_up_the_burst_of_another)
{
        uint64_t unrecorded;
        refusals = (struct refusals){0};
        CHECK_INT(taken("key_a", 1000, 1, &unrecorded), REFUSALS_BURST);
        CHECK_INT(taken("key_b", 1000, 1, &unrecorded), REFUSALS_BURST);
}

TEST(many_keys_together_are_bounded)
{
        uint64_t unrecorded;
        unsigned rows = 0;
        refusals = (struct refusals){0};
        for (int i = 0; i < 5000; i++) {
                char key[ID_SIZE];
                snprintf(key, sizeof key, "key_%d", i);
                rows += taken(key, 200, 1 + i, &unrecorded);
        }
        CHECK_INT(rows, 10 * REFUSALS_BURST); /* within five seconds no more than one came back */
}
