/* test/unit/torture.c -- fault injection: runs every test of a unit test program again and again, and lets
 * its first, second, third ... allocation fail.
 *
 * tools/torture compiles this file once for each program: TORTURE_TEST names the program's source, which is
 * included below without its main().  It links with --wrap for every function below, so that calls from our
 * own objects arrive here.  Calls that a shared library makes do not, except for those of SQLite, which takes
 * its allocator as a setting. jansson is left out on purpose: its parser writes past its buffer after a
 * failed allocation, and cella-server ends instead (daemon/main.c).
 *
 * Each try is a child process.  The defects are: death by a signal, a report of a sanitizer, a leak, no end
 * within TORTURE_HANG_S.  A failed CHECK is none: the test has noticed the failure.  Leaks are looked for at
 * the first failed CHECK, while the test's stack still refers to what it holds.
 *
 *     PROGRAM [--tries N] [--seconds S] [--from] [NAME]
 *
 * --tries    at most N allocations of each test, evenly spread (0: all)
 * --seconds  stop trying allocations of one test after S seconds (0: never); evenly spread as well
 * --from     all allocations after the first failed one fail, too
 * NAME       only tests with NAME in their name */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TORTURE_HANG_S 150    /* tests themselves wait for up to 60 s */
#define TORTURE_DEFECTS_MAX 5 /* of one test; then the next */
#define TORTURE_REFUSED 3     /* exit status of a try: a CHECK failed */
#define TORTURE_SKIPPED 4     /* the test called SKIP */
#define TORTURE_SANITIZER 99  /* see tools/torture */

/* SQLite allocates a hundred times as often as we do: its allocations are counted by themselves. */
enum torture_who { TORTURE_OURS, TORTURE_SQLITE, TORTURE_WHO };

/* Shared with the tries. */
static struct torture {
        _Atomic unsigned long count[TORTURE_WHO], at; /* allocations so far; which one fails, 0: none */
        _Atomic int who;                              /* enum torture_who: the allocations that fail */
        _Atomic bool armed, fired, from;
        _Atomic int first, status; /* the process of the try; how another one of it has ended the try */
} * torture;

static bool torture_fails_for(int who)
{
        if (torture == NULL || !atomic_load(&torture->armed))
                return false;
        unsigned long n = atomic_fetch_add(&torture->count[who], 1) + 1, at = atomic_load(&torture->at);
        if (at == 0 || who != atomic_load(&torture->who) || n < at ||
            (n > at && !atomic_load(&torture->from)))
                return false;
        if (!atomic_exchange(&torture->fired, true)) {
                atomic_store(&torture->armed, false); /* printing may allocate */
                fprintf(stderr, "allocation %lu fails here:\n", n);
                __sanitizer_print_stack_trace();
                atomic_store(&torture->armed, true);
        }
        errno = ENOMEM;
        return true;
}

static bool torture_fails(void)
{
        return torture_fails_for(TORTURE_OURS);
}

/* ---- what allocates ---- */

#define TORTURE_WRAP(type, name, failed, params, args)                                                       \
        type __real_##name params;                                                                           \
        type __wrap_##name params;                                                                           \
        type __wrap_##name params                                                                            \
        {                                                                                                    \
                return torture_fails() ? (failed) : __real_##name args;                                      \
        }

TORTURE_WRAP(void *, malloc, NULL, (size_t size), (size))
TORTURE_WRAP(void *, calloc, NULL, (size_t n, size_t size), (n, size))
TORTURE_WRAP(void *, realloc, NULL, (void *old, size_t size), (old, size))
TORTURE_WRAP(void *, reallocarray, NULL, (void *old, size_t n, size_t size), (old, n, size))
TORTURE_WRAP(void *, aligned_alloc, NULL, (size_t to, size_t size), (to, size))
TORTURE_WRAP(char *, strdup, NULL, (const char *text), (text))
TORTURE_WRAP(char *, strndup, NULL, (const char *text, size_t n), (text, n))
TORTURE_WRAP(int, vasprintf, -1, (char **ret, const char *format, va_list list), (ret, format, list))
TORTURE_WRAP(FILE *, open_memstream, NULL, (char **text, size_t *len), (text, len))
TORTURE_WRAP(FILE *, fmemopen, NULL, (void *text, size_t len, const char *mode), (text, len, mode))
TORTURE_WRAP(FILE *, fopen, NULL, (const char *path, const char *mode), (path, mode))
TORTURE_WRAP(FILE *, fdopen, NULL, (int fd, const char *mode), (fd, mode))
TORTURE_WRAP(DIR *, fdopendir, NULL, (int fd), (fd))
TORTURE_WRAP(DIR *, opendir, NULL, (const char *path), (path))
TORTURE_WRAP(char *, realpath, NULL, (const char *path, char *to), (path, to))

int __wrap_asprintf(char **ret, const char *format, ...);
int __wrap_asprintf(char **ret, const char *format, ...)
{
        va_list list;
        va_start(list, format);
        int n = torture_fails() ? -1 : __real_vasprintf(ret, format, list);
        va_end(list);
        return n;
}

/* ---- the test ---- */

/* Ends a try.  LeakSanitizer's own check when a process exits is for tests that call exit().  A process that
 * the test has forked ends all of the try: others may wait for what it would have written. */
static _Noreturn void torture_end(int status)
{
        atomic_store(&torture->armed, false);
        fflush(NULL);
        if (__lsan_do_recoverable_leak_check())
                status = TORTURE_SANITIZER;
        if (getpid() != atomic_load(&torture->first)) {
                atomic_store(&torture->status, status);
                kill(0, SIGKILL);
        }
        _exit(status);
}

/* Called for each failed CHECK. */
static void torture_check_failed(const char *file, int line)
{
        if (torture == NULL || !atomic_load(&torture->fired))
                return;
        printf("CHECK failed: %s:%d\n", file, line);
        torture_end(TORTURE_REFUSED);
}

/* What the test itself allocates does not fail. */
#define malloc(size) __real_malloc(size)
#define calloc(n, size) __real_calloc(n, size)
#define realloc(old, size) __real_realloc(old, size)
#undef strdup
#define strdup(text) __real_strdup(text)
#undef strndup
#define strndup(text, n) __real_strndup(text, n)
#define open_memstream(text, len) __real_open_memstream(text, len)
#define fopen(path, mode) __real_fopen(path, mode)
#define fdopen(fd, mode) __real_fdopen(fd, mode)
#define opendir(path) __real_opendir(path)

#define TEST_ON_FAILURE(file, line) torture_check_failed(file, line)
#define main torture_plain_main
#include TORTURE_TEST
#undef main

/* SQLite's allocator: struct sqlite3_mem_methods, without its header. */
struct torture_methods {
        void *(*allocate)(int);
        void (*release)(void *);
        void *(*resize)(void *, int);
        int (*size)(void *);
        int (*round_up)(int);
        int (*init)(void *);
        void (*shutdown)(void *);
        void *context;
};
__attribute__((weak)) int sqlite3_config(int, ...);
static struct torture_methods torture_sqlite;

static void *torture_sqlite_allocate(int size)
{
        return torture_fails_for(TORTURE_SQLITE) ? NULL : torture_sqlite.allocate(size);
}

static void *torture_sqlite_resize(void *old, int size)
{
        return torture_fails_for(TORTURE_SQLITE) ? NULL : torture_sqlite.resize(old, size);
}

static void torture_take_sqlite(void)
{
        enum { CONFIG_MALLOC = 4, CONFIG_GETMALLOC = 5 };
        if (sqlite3_config == NULL || sqlite3_config(CONFIG_GETMALLOC, &torture_sqlite) != 0)
                return;
        struct torture_methods ours = torture_sqlite;
        ours.allocate = torture_sqlite_allocate;
        ours.resize = torture_sqlite_resize;
        sqlite3_config(CONFIG_MALLOC, &ours);
}

/* ---- one try ---- */

static _Noreturn void torture_run(const struct test *test, int output)
{
        setpgid(0, 0);
        atomic_store(&torture->first, getpid());
        signal(SIGPIPE, SIG_IGN); /* as in our programs; a test may write to a connection that was refused */
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
        torture_take_sqlite();
        test_name = test->name;
        atomic_store(&torture->armed, true);
        test_call(test);
        torture_end(test_failures > 0 ? TORTURE_REFUSED : test_skipped ? TORTURE_SKIPPED : 0);
}

static double torture_now(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void torture_print(int output)
{
        char buffer[4096];
        ssize_t n;
        long total = 0;
        lseek(output, 0, SEEK_SET);
        while (total < 24000 && (n = read(output, buffer, sizeof buffer)) > 0) {
                total += n;
                for (char *line = buffer, *end; line < buffer + n; line = end) {
                        end = memchr(line, '\n', (size_t)(buffer + n - line));
                        end = end != NULL ? end + 1 : buffer + n;
                        printf(" %.*s", (int)(end - line), line);
                }
        }
        printf("\n");
}

static bool torture_reported(int output)
{
        size_t len = (size_t)lseek(output, 0, SEEK_END);
        char *text = len > 0 ? mmap(NULL, len, PROT_READ, MAP_PRIVATE, output, 0) : MAP_FAILED;
        bool found = false;
        if (text == MAP_FAILED)
                return false;
        for (const char **word = (const char *[]){"Sanitizer: ", "runtime error: ", NULL}; *word; word++)
                found = found || memmem(text, len, *word, strlen(*word)) != NULL;
        munmap(text, len);
        return found;
}

/* Lets allocation number `at` fail.  Returns the try's exit status, or TORTURE_SANITIZER after it has
 * printed what is wrong. */
static int torture_try(const struct test *test, int who, unsigned long at)
{
        int output = memfd_create("output", MFD_CLOEXEC), status = 0;
        char why[64] = "";
        for (int i = 0; i < TORTURE_WHO; i++)
                atomic_store(&torture->count[i], 0);
        atomic_store(&torture->who, who);
        atomic_store(&torture->at, at);
        atomic_store(&torture->fired, false);
        atomic_store(&torture->status, 0);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
                torture_run(test, output);
        setpgid(child, child);
        struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, child, 0), .events = POLLIN};
        bool ended = poll(&end, 1, TORTURE_HANG_S * 1000) == 1;
        kill(-child, SIGKILL);
        waitpid(child, &status, 0);
        atomic_store(&torture->armed, false);
        if (atomic_load(&torture->status) != 0)
                status = W_EXITCODE(atomic_load(&torture->status), 0);
        if (!ended)
                snprintf(why, sizeof why, "no end after %d s", TORTURE_HANG_S);
        else if (WIFSIGNALED(status))
                snprintf(why, sizeof why, "killed by signal %d", WTERMSIG(status));
        else if (torture_reported(output) || WEXITSTATUS(status) == TORTURE_SANITIZER)
                snprintf(why, sizeof why, "a sanitizer reports");
        else if (at == 0 && WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != TORTURE_SKIPPED)
                snprintf(why, sizeof why, "the test fails without a failing allocation");
        if (why[0] != '\0') {
                printf("FAIL %s: with allocation %lu%s failing: %s\n", test->name, at,
                       who == TORTURE_SQLITE ? " of SQLite" : "", why);
                torture_print(output);
        }
        close(end.fd);
        close(output);
        return why[0] != '\0' ? TORTURE_SANITIZER : WEXITSTATUS(status);
}

/* ---- all tries of a test ---- */

struct torture_options {
        unsigned long tries;
        double seconds;
        const char *name;
};

/* A step through 1..count that visits `wanted` of them. */
static unsigned long torture_step(unsigned long count, double wanted)
{
        if (wanted < 1)
                wanted = 1;
        return wanted >= (double)count ? 1 : (unsigned long)((double)count / wanted + 1);
}

#define TORTURE_TEXT 128

/* Returns the number of defects, and in ret what was tried. */
static unsigned long torture_all(const struct test *test, int who, unsigned long count, double took,
                                 const struct torture_options *options, char ret[TORTURE_TEXT])
{
        double begun = torture_now(), wanted = options->tries > 0 ? (double)options->tries : 1e18;
        unsigned long tried = 0, refused = 0, defects = 0;
        if (options->seconds > 0 && options->seconds / took < wanted)
                wanted = options->seconds / took;
        /* The number of allocations may differ a little from try to try: go on until none failed. */
        for (unsigned long at = 1, step = torture_step(count, wanted);; at += step) {
                if (options->seconds > 0 && torture_now() - begun > options->seconds * 2)
                        break;
                int status = torture_try(test, who, at);
                if (!atomic_load(&torture->fired))
                        break;
                tried++;
                refused += status != 0 && status != TORTURE_SANITIZER;
                defects += status == TORTURE_SANITIZER;
                if (defects >= TORTURE_DEFECTS_MAX) {
                        printf(" and so on\n");
                        break;
                }
        }
        snprintf(ret, TORTURE_TEXT, "%lu of %lu%s, noticed by the test %lu; ", tried, count,
                 who == TORTURE_SQLITE ? " of SQLite" : " allocations", refused);
        return defects;
}

static int torture_test(const struct test *test, const struct torture_options *options)
{
        double begun = torture_now();
        int status = torture_try(test, 0, 0);
        double took = torture_now() - begun;
        const unsigned long counts[] = {atomic_load(&torture->count[0]), atomic_load(&torture->count[1])};
        if (status != 0) {
                if (status == TORTURE_SKIPPED)
                        printf("skip %s\n", test->name);
                return status;
        }
        char tried[TORTURE_WHO][TORTURE_TEXT] = {"", ""};
        unsigned long defects = 0;
        for (int who = 0; who < TORTURE_WHO; who++)
                if (counts[who] > 0)
                        defects += torture_all(test, who, counts[who], took, options, tried[who]);
        if (defects > 0)
                return TORTURE_SANITIZER;
        printf("ok %s: %s%s\n", test->name, tried[0], tried[1]);
        return 0;
}

int main(int argc, char **argv)
{
        struct torture_options options = {0};
        int passed = 0, failed = 0, skipped = 0;

        setvbuf(stdout, NULL, _IOLBF, 0);
        torture = mmap(NULL, sizeof *torture, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (torture == MAP_FAILED)
                return 1;
        for (int i = 1; i < argc; i++) {
                if (!strcmp(argv[i], "--from"))
                        torture->from = true;
                else if (!strcmp(argv[i], "--tries") && i + 1 < argc)
                        options.tries = strtoul(argv[++i], NULL, 10);
                else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
                        options.seconds = strtod(argv[++i], NULL);
                else
                        options.name = argv[i];
        }
        for (struct test *test = test_first; test != NULL; test = test->next) {
                if (options.name != NULL && strstr(test->name, options.name) == NULL)
                        continue;
                int status = torture_test(test, &options);
                if (status == 0)
                        passed++;
                else if (status == TORTURE_SKIPPED)
                        skipped++;
                else
                        failed++;
        }
        printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
        return failed > 0 || passed + skipped == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
