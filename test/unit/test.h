/* test/unit/test.h -- what a unit test program needs: include it in its one file.
 *
 *     TEST(adds_numbers)
 *     {
 *             CHECK_INT(add(1, 2), 3);
 *     }
 *
 * A failed check is reported and the test goes on; SKIP leaves it.  The program exits
 * with 1 if a check failed.
 *
 * TEST_BEFORE and TEST_AFTER, defined before this file is included, are functions to call before and after
 * every test.
 *
 *     PROGRAM [ARGUMENT...] [--only TEXT] [--list]
 *
 * --only runs the tests with TEXT in their names, --list prints the names.
 *
 * The tests run in a child process.  The parent watches it: a test that runs longer than its time limit
 * (TEST_SECONDS, or the one given to TEST_WITHIN) or that crashes is reported by name and counted as failed,
 * and a new child continues with the next test.  CELLA_SLACK=N multiplies the time limits. */
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEST_SECONDS 120

struct test {
        const char *name;
        void (*run)(void);
        double seconds;
        struct test *next;
};

/* Shared by the child that runs the tests and the parent that watches it. */
struct test_progress {
        const struct test *now; /* the running test; NULL: all have run */
        double started;
        int passed, failed, skipped;
};

/* After so many failures in one test the rest is counted but not printed: a loop over
 * thousands of cases that all fail should stay readable. */
#define TEST_REPORTS_MAX 20

static struct test *test_first, **test_end = &test_first;
static const char *test_name;
static int test_failures;
static bool test_skipped;
static struct test_progress *test_progress;

/* Constructors of one file run in the order of the file, and so do the tests. */
#define TEST(id) TEST_WITHIN(id, TEST_SECONDS)
#define TEST_WITHIN(id, limit)                                                                               \
        static void test_run_##id(void);                                                                     \
        __attribute__((constructor)) static void test_add_##id(void)                                         \
        {                                                                                                    \
                static struct test test = {.name = #id, .run = test_run_##id, .seconds = (limit)};           \
                *test_end = &test;                                                                           \
                test_end = &test.next;                                                                       \
        }                                                                                                    \
        static void test_run_##id(void)

static inline void test_call(const struct test *test)
{
#ifdef TEST_BEFORE
        TEST_BEFORE();
#endif
        test->run();
#ifdef TEST_AFTER
        TEST_AFTER();
#endif
}

#ifndef TEST_ON_FAILURE
#define TEST_ON_FAILURE(file, line) /* torture.c defines it */
#endif

/* Counts the failure.  Returns true if it should be printed. */
static inline bool test_fail(const char *file, int line)
{
        TEST_ON_FAILURE(file, line);
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

static inline double test_now(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Where a test makes its files.  tools/torture sets TMPDIR: a try that is ended early does not remove its
 * own. */
static inline const char *test_directory(void)
{
        const char *path = getenv("TMPDIR");

        return path && path[0] == '/' && strlen(path) <= 32 ? path : "/tmp";
}

static inline double test_slack(void)
{
        const char *text = getenv("CELLA_SLACK");

        return text && atof(text) > 1 ? atof(text) : 1;
}

static inline void test_run_one(struct test *test)
{
        test_name = test->name;
        test_failures = 0;
        test_skipped = false;
        test_call(test);
        if (test_failures > 0)
                test_progress->failed++;
        else if (test_skipped)
                test_progress->skipped++;
        else
                test_progress->passed++;
        if (test_failures > TEST_REPORTS_MAX)
                printf("FAIL %s: %d checks more\n", test_name, test_failures - TEST_REPORTS_MAX);
        else if (test_failures == 0 && !test_skipped)
                printf("ok %s\n", test_name);
}

/* The child.  It has a process group of its own, so that the processes that a test left can be killed. */
static inline void test_run_rest(struct test *first, const char *only)
{
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (struct test *test = first; test != NULL; test = test->next) {
                if (strstr(test->name, only) == NULL)
                        continue;
                test_progress->started = test_now();
                test_progress->now = test;
                test_run_one(test);
        }
        test_progress->now = NULL;
        exit(EXIT_SUCCESS); /* not _exit(): leak checkers report at exit */
}

/* Waits for the child; the test to continue with, NULL if there is none. */
static inline struct test *test_watch(pid_t child)
{
        int status = 0;
        bool late = false;
        useconds_t pause = 500;
        const struct test *running;

        for (pid_t r = 0; (r = waitpid(child, &status, WNOHANG)) <= 0;) {
                running = test_progress->now;
                if (r < 0 && errno != EINTR)
                        return NULL;
                late = running && test_now() - test_progress->started > running->seconds * test_slack();
                if (late)
                        kill(-child, SIGKILL);
                usleep(pause);
                pause = pause < 20000 ? pause * 2 : pause;
        }
        running = test_progress->now;
        if (running == NULL && status == 0)
                return NULL;
        test_progress->failed++;
        if (running == NULL)
                printf("FAIL exit: the tests ended with status 0x%x: a leak, or an error after the last "
                       "test\n",
                       (unsigned)status);
        else if (late)
                printf("FAIL %s: still running after %g s\n", running->name, running->seconds * test_slack());
        else
                printf("FAIL %s: the process ended with status 0x%x\n", running->name, (unsigned)status);
        kill(-child, SIGKILL);
        return running ? running->next : NULL;
}

int main(int argc, char **argv)
{
        const char *only = "";
        bool list = false;
        size_t chosen = 0;

        for (int i = 1; i < argc; i++) {
                if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
                        only = argv[++i];
                else if (strcmp(argv[i], "--list") == 0)
                        list = true;
        }
        setvbuf(stdout, NULL, _IOLBF, 0); /* unbuffered, so that a crash loses no output */
        for (struct test *test = test_first; test != NULL; test = test->next) {
                if (strstr(test->name, only) == NULL)
                        continue;
                chosen++;
                if (list)
                        printf("%s\n", test->name);
        }
        if (list || chosen == 0) {
                if (chosen == 0)
                        fprintf(stderr, "no test has such a name\n");
                return chosen == 0 ? 2 : EXIT_SUCCESS;
        }
        test_progress =
                mmap(NULL, sizeof *test_progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (test_progress == MAP_FAILED)
                return 2;
        for (struct test *test = test_first; test != NULL;) {
                test_progress->now = test;
                test_progress->started = test_now();
                fflush(NULL);
                pid_t child = fork();
                if (child < 0)
                        return 2;
                if (child == 0)
                        test_run_rest(test, only);
                test = test_watch(child);
        }
        printf("%d passed, %d failed, %d skipped\n", test_progress->passed, test_progress->failed,
               test_progress->skipped);
        return test_progress->failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
