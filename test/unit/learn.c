/* test/unit/learn.c -- the counts from which the daemon learns what to preload. */
#include "core/pool/learn.h"

#include "test.h"

#define KNOWN " 3.11.2 json os "

static struct learner *made(void)
{
        struct learner *l = learner_new("key_a", "host", "python3", 0);
        CHECK(l != NULL);
        return l;
}

static void count(struct learner *l, unsigned times, const char *imports, int64_t now_us)
{
        for (unsigned i = 0; i < times; i++)
                learner_count(l, imports, KNOWN, now_us);
}

/* Returns the picked names as text. */
static const char *picked(struct learner *l, int64_t now_us)
{
        static char text[2000];
        struct learn_name *names[LEARN_PICK_MAX];
        unsigned n = learner_pick(l, now_us, names);
        size_t used = 0;
        text[0] = '\0';
        for (unsigned i = 0; i < n; i++)
                used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "",
                                         names[i]->name);
        return text;
}

static struct learn_name *named(struct learner *l, const char *name)
{
        for (unsigned i = 0; i < l->n_names; i++)
                if (!strcmp(l->names[i].name, name))
                        return &l->names[i];
        return NULL;
}

TEST(modules_of_five_executions_are_picked)
{
        struct learner *l = made();
        count(l, LEARN_COUNT_MIN - 1, " json numpy os ", 0);
        CHECK_STR(picked(l, 0), "");
        CHECK(l->wanted_us == 0);
        count(l, 1, " numpy yaml ", 7);
        CHECK_STR(picked(l, 7), "numpy");
        CHECK_INT(l->wanted_us, 7);
        count(l, LEARN_COUNT_MIN, " yaml ", 8);
        CHECK_STR(picked(l, 8), "yaml numpy");
        CHECK_INT(l->wanted_us, 7);
        CHECK(!named(l, "json") && !named(l, "os")); /* every template has them */
        free(l);
}

TEST(modules_of_few_among_many_executions_are_not_picked)
{
        struct learner *l = made();
        count(l, LEARN_COUNT_MIN * LEARN_SHARE_MIN, "", 0);
        count(l, LEARN_COUNT_MIN, " numpy ", 0);
        CHECK_STR(picked(l, 0), "");
        count(l, LEARN_COUNT_MIN, " numpy ", 0);
        CHECK_STR(picked(l, 0), "numpy");
        free(l);
}

TEST(counts_fade)
{
        struct learner *l = made();
        count(l, LEARN_COUNT_MIN, " numpy ", 0);
        learner_fade(l, LEARN_HALF_US - 1);
        CHECK_STR(picked(l, LEARN_HALF_US - 1), "numpy");
        learner_fade(l, LEARN_HALF_US);
        CHECK_STR(picked(l, LEARN_HALF_US), "");
        CHECK_INT(named(l, "numpy")->count, LEARN_COUNT_MIN / 2);
        CHECK_INT(l->executions, LEARN_COUNT_MIN / 2);
        learner_fade(l, 1000 * LEARN_HALF_US);
        CHECK_INT(named(l, "numpy")->count, 0);
        CHECK_INT(l->executions, 0);
        count(l, LEARN_COUNT_MIN, " numpy ", 1001 * LEARN_HALF_US);
        CHECK_STR(picked(l, 1001 * LEARN_HALF_US), "numpy");
        free(l);
}

TEST(a_module_in_the_template_stays_until_it_is_hardly_used)
{
        struct learner *l = made();
        count(l, LEARN_COUNT_MIN, " numpy ", 0);
        named(l, "numpy")->used = true;
        learner_fade(l, 2 * LEARN_HALF_US);
        CHECK_INT(named(l, "numpy")->count, 1);
        CHECK_STR(picked(l, 2 * LEARN_HALF_US), "numpy");
        count(l, LEARN_SHARE_MIN * 5, "", 2 * LEARN_HALF_US);
        CHECK_STR(picked(l, 2 * LEARN_HALF_US), "");
        learner_fade(l, 20 * LEARN_HALF_US);
        CHECK_STR(picked(l, 20 * LEARN_HALF_US), "");
        free(l);
}

TEST(the_most_useful_modules_come_first)
{
        struct learner *l = made();
        count(l, 30, " six ", 0);
        count(l, 10, " pandas ", 0);
        CHECK_STR(picked(l, 0), "six pandas");
        named(l, "six")->import_us = 1000;
        named(l, "pandas")->import_us = 300000;
        CHECK_STR(picked(l, 0), "pandas six");
        l->most = 1;
        CHECK_STR(picked(l, 0), "pandas");
        l->most = 0;
        CHECK_STR(picked(l, 0), "");
        CHECK_INT(learner_benefit_us(l), 0);
        named(l, "pandas")->used = named(l, "six")->used = true;
        CHECK_INT(learner_benefit_us(l), (30 * 1000 + 10 * 300000) / 40);
        free(l);
}

TEST(a_module_that_cannot_be_preloaded_is_not_picked_for_long)
{
        struct learner *l = made();
        count(l, LEARN_COUNT_MIN, " broken ", 0);
        named(l, "broken")->failed_until_us = LEARN_FAILED_US;
        l->wanted_us = 0;
        count(l, 100, " broken ", 1);
        CHECK_STR(picked(l, 1), "");
        CHECK_INT(l->wanted_us, 0);
        count(l, 100, " broken ", LEARN_FAILED_US);
        CHECK_STR(picked(l, LEARN_FAILED_US), "broken");
        CHECK_INT(l->wanted_us, LEARN_FAILED_US);
        free(l);
}

TEST(the_number_of_counted_modules_is_bounded)
{
        struct learner *l = made();
        char imports[SCAN_IMPORTS_SIZE];
        count(l, 20, " numpy ", 0);
        count(l, 10, " yaml ", 0);
        named(l, "yaml")->used = true;
        for (int i = 0; i < 10000; i++) {
                snprintf(imports, sizeof imports, " a%d b%d ", i, i);
                count(l, 1, imports, 0);
        }
        CHECK_INT(l->n_names, LEARN_NAMES_MAX);
        CHECK(named(l, "numpy") && named(l, "yaml") && named(l, "b9999"));
        for (unsigned i = 0; i < l->n_names; i++)
                l->names[i].used = true;
        count(l, 1, " other ", 0);
        CHECK(!named(l, "other"));
        free(l);
}

TEST(malicious_names_are_only_compared)
{
        struct learner *l = made();
        char longest[SCAN_IMPORTS_SIZE];
        memset(longest, 'x', sizeof longest - 1);
        longest[sizeof longest - 1] = '\0';
        count(l, LEARN_COUNT_MIN, longest, 0);
        CHECK_INT(l->n_names, 0);
        count(l, LEARN_COUNT_MIN, "   %s%n   ", 0); /* the scanner lets no such name pass */
        CHECK_STR(picked(l, 0), "%s%n");
        free(l);
}

TEST(modules_of_a_template_are_found_visible_and_hidden)
{
        CHECK(learn_has_module(" a b:12 ", "a") && learn_has_module(" a b:12 ", "b"));
        CHECK(!learn_has_module(" ab ", "a") && !learn_has_module(" a b:12 ", "12") &&
              !learn_has_module("", "a"));
        CHECK_STR(learn_hidden(" a b:12 ", "b"), "12 ");
        CHECK(!learn_hidden(" a b:12 ", "a"));
}
