/* test/unit/test.h -- what a unit test program needs: include it in its one file.
 *
 *     TEST(adds_numbers)
 *     {
 *             CHECK_INT(add(1, 2), 3);
 *     }
 *
 * A failed check is reported and the test goes on; SKIP leaves it.  The program exits
 * with 1 if a check failed. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test {
        const char *name;
        void (*run)(void);
        struct test *next;
};

/* After so many failures in one test the rest is counted but not printed: a loop over
 * thousands of cases that all fail should stay readable. */
#define TEST_REPORTS_MAX 20

static struct test *test_first, **test_end = &test_first;
static const char *test_name;
static int test_failures;
static bool test_skipped;

/* Constructors of one file run in the order of the file, and so do the tests. */
#define TEST(id)                                                                                             \
        static void test_run_##id(void);                                                                     \
        __attribute__((constructor)) static void test_add_##id(void)                                         \
        {                                                                                                    \
                static struct test test = {.name = #id, .run = test_run_##id};                               \
                *test_end = &test;                                                                           \
                test_end = &test.next;                                                                       \
        }                                                                                                    \
        static void test_run_##id(void)

/* True if the failure should be explained. */
static inline bool test_fail(const char *file, int line)
{
        if (++test_failures > TEST_REPORTS_MAX)
                return false;
        printf("FAIL %s: %s:%d ", test_name, file, line);
        return true;
}

static inline void test_check(bool good, const char *what, const char *file, int line)
{
        if (!good && test_fail(file, line))
                printf("not true: %s\n", what);
}

static inline void test_check_int(long long is, long long should, const char *what, const char *file,
                                  int line)
{
        if (is != should && test_fail(file, line))
                printf("%s is %lld (0x%llx), should be %lld (0x%llx)\n", what, is, (unsigned long long)is,
                       should, (unsigned long long)should);
}

static inline void test_check_str(const char *is, const char *should, const char *what, const char *file,
                                  int line)
{
        bool good = is == NULL || should == NULL ? is == should : strcmp(is, should) == 0;

        if (!good && test_fail(file, line))
                printf("%s is \"%s\", should be \"%s\"\n", what, is ? is : "(null)",
                       should ? should : "(null)");
}

#define CHECK(cond) test_check((cond), #cond, __FILE__, __LINE__)
#define CHECK_INT(actual, expected)                                                                          \
        test_check_int((long long)(actual), (long long)(expected), #actual, __FILE__, __LINE__)
#define CHECK_STR(actual, expected) test_check_str((actual), (expected), #actual, __FILE__, __LINE__)

#define SKIP(reason)                                                                                         \
        do {                                                                                                 \
                printf("skip %s: %s\n", test_name, (reason));                                                \
                test_skipped = true;                                                                         \
                return;                                                                                      \
        } while (0)

int main(void)
{
        int passed = 0, failed = 0, skipped = 0;

        setvbuf(stdout, NULL, _IOLBF, 0); /* so that a crash loses nothing */
        for (struct test *test = test_first; test != NULL; test = test->next) {
                test_name = test->name;
                test_failures = 0;
                test_skipped = false;
                test->run();
                if (test_failures > 0)
                        failed++;
                else if (test_skipped)
                        skipped++;
                else
                        passed++;
                if (test_failures > TEST_REPORTS_MAX)
                        printf("FAIL %s: %d checks more\n", test_name, test_failures - TEST_REPORTS_MAX);
                else if (test_failures == 0 && !test_skipped)
                        printf("ok %s\n", test_name);
        }
        printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
        return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
