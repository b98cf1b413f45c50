/* cli/bench/bench_rounds.c -- runs every case once before any case runs again, so that other load on the
 * machine affects all cases equally. The order differs in each round, and each case starts when the work of
 * the previous one is finished. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cli/bench/bench.h"

#define WARM_UP 3     /* rounds that do not count */
#define PAUSE_US 5000 /* the daemon deletes a sandbox after its answer */
#define CASES_MAX 32
#define CODE "echo hi" /* code of the library's cases */

/* ---- one turn ---- */

/* Reads to the end, also after interruptions by signals. */
static size_t bench_rounds_read_all(int fd, char *text, size_t size)
{
        size_t got = 0;
        for (;;) {
                char rest[256];
                ssize_t n = got < size ? read(fd, text + got, size - got) : read(fd, rest, sizeof rest);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return got;
                got += got < size ? (size_t)n : 0;
        }
}

int bench_spawn(const struct bench_process *p, pid_t *ret)
{
        /* The same for all cases: variables of the caller must not change the behaviour of an interpreter.
         * HOME is never /tmp: interpreters execute code that they find there (.local/lib/python3*). */
        char home[120];
        char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", home, NULL};
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        snprintf(home, sizeof home, "HOME=%s", p->home ? p->home : "/nonexistent");
        posix_spawn_file_actions_init(&actions);
        posix_spawnattr_init(&attributes);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, p->out, STDOUT_FILENO);
        if (p->err < 0)
                posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        else
                posix_spawn_file_actions_adddup2(&actions, p->err, STDERR_FILENO);
        if (p->directory) {
                posix_spawn_file_actions_addchdir_np(&actions, p->directory);
                posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        }
        int r = posix_spawn(ret, p->program, &actions, &attributes, (char *const *)p->argv, environment);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
        return -r;
}

int bench_run_spawn(const char *program, const char *const *argv, const char *line)
{
        char text[64];
        int out[2], status = -1;
        pid_t pid = -1;
        if (pipe2(out, O_CLOEXEC) < 0)
                return -errno;
        const struct bench_process process = {.program = program, .argv = argv, .out = out[1], .err = -1};
        int r = bench_spawn(&process, &pid);
        close(out[1]);
        size_t n = bench_rounds_read_all(out[0], text, sizeof text);
        close(out[0]);
        if (r < 0)
                return r;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                continue;
        return status == 0 && n == strlen(line) + 1 && !memcmp(text, line, n - 1) && text[n - 1] == '\n'
                       ? 0
                       : -EBADMSG;
}

static int run_library(struct bench *b, bool fresh, const char *line, struct cella_err *err)
{
        const struct cella_command command = {.runtime = "sh",
                                              .code = CODE,
                                              .code_len = strlen(CODE),
                                              .stdin_fd = -1,
                                              .cancel_fd = -1,
                                              .final = fresh};
        struct cella_options o;
        struct cella_result result;
        struct cella_sandbox *sandbox = b->ready;
        int r = 0;
        cella_options_default(&o);
        if (fresh)
                r = cella_sandbox_new(&o, &sandbox, err);
        if (r == 0 && (r = cella_run(sandbox, &command, &result, err)) == 0) {
                if (result.exit_code != 0 || result.output_len[CELLA_STDOUT] != strlen(line) + 1 ||
                    memcmp(result.output[CELLA_STDOUT], line, strlen(line)) != 0)
                        r = -EBADMSG;
                cella_result_done(&result);
        }
        if (fresh)
                cella_sandbox_free(sandbox);
        return r;
}

static int run_request(struct bench_daemon *d, const struct bench_case *c, const struct bench_series *s)
{
        if (c->kind != BENCH_GET)
                return bench_execute(d->fd, s->request, s->request_len, c->line, d->answer);
        int status = bench_ask(d->fd, s->request, s->request_len, d->answer);
        return status == 200 && strstr(d->answer->body, "\"ok\"") ? 0 : -EBADMSG;
}

static int bench_rounds_run(struct bench *b, size_t i)
{
        struct cella_err ignored = {0};
        const struct bench_case *c = &bench_cases[i];
        switch (c->kind) {
        case BENCH_SPAWN:
                return bench_run_spawn(b->series[i].program, c->argv, c->line);
        case BENCH_LIBRARY_FRESH:
        case BENCH_LIBRARY_READY:
                return run_library(b, c->kind == BENCH_LIBRARY_FRESH, c->line, &ignored);
        default:
                return run_request(&b->daemons[c->daemon], c, &b->series[i]);
        }
}

/* ---- counters of the pools ---- */

static uint64_t counted(const struct bench_daemon *d, const struct bench_case *c)
{
        const struct bench_pool *p = c->expects == BENCH_ANY ? NULL : bench_daemon_pool(d, c->runtime);
        return !p ? 0 : c->expects == BENCH_HIT ? p->hits : p->misses;
}

/* Called after a case: waits until the daemon is idle.  *ret_as_expected: the pool was hit, or was empty, as
 * the case requires. */
static int bench_rounds_settle(struct bench *b, const struct bench_case *c, bool *ret_as_expected,
                               struct cella_err *err)
{
        struct bench_daemon *d = &b->daemons[c->daemon];
        usleep(PAUSE_US);
        *ret_as_expected = true;
        if (c->kind < BENCH_GET)
                return 0;
        if (d->fd < 0)
                d->fd = bench_connect(d->socket);
        uint64_t before = counted(d, c);
        int r = bench_daemon_settle(d, err);
        if (r == 0 && c->expects != BENCH_ANY)
                *ret_as_expected = counted(d, c) == before + 1;
        return r;
}

static int take_turn(struct bench *b, size_t i, bool counts, struct cella_err *err)
{
        const struct bench_case *c = &bench_cases[i];
        struct bench_series *s = &b->series[i];
        bool as_expected;
        int64_t begun = clock_us();
        int outcome = bench_rounds_run(b, i);
        int64_t took = clock_us() - begun;
        /* the connection is not usable any more */
        if (outcome < 0 && outcome != -EBADMSG && c->kind >= BENCH_GET) {
                close(b->daemons[c->daemon].fd);
                b->daemons[c->daemon].fd = -1;
        }
        int r = bench_interrupted ? -EINTR : bench_rounds_settle(b, c, &as_expected, err);
        if (r < 0 || !counts)
                return r;
        if (outcome < 0)
                s->failures++;
        else if (!as_expected)
                s->misses++;
        else
                s->times[s->n++] = (uint32_t)took;
        return 0;
}

/* ---- all cases ---- */

static uint32_t dice(uint32_t *state)
{
        *state = *state * 1664525 + 1013904223;
        return *state >> 8;
}

void bench_shuffle(size_t *order, size_t n, uint32_t *state)
{
        for (size_t i = n; i > 1; i--) {
                size_t other = dice(state) % i, kept = order[i - 1];
                order[i - 1] = order[other];
                order[other] = kept;
        }
}

void bench_progress(uint64_t round, uint64_t rounds)
{
        if (isatty(STDERR_FILENO))
                fprintf(stderr, round < rounds ? "\rround %llu of %llu" : "\r\033[K",
                        (unsigned long long)round + 1, (unsigned long long)rounds);
}

static int by_size(const void *a, const void *b)
{
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        return x < y ? -1 : x > y;
}

void bench_sort(struct bench_series *s)
{
        qsort(s->times, s->n, sizeof *s->times, by_size);
}

int bench_rounds(struct bench *b, struct cella_err *err)
{
        size_t order[CASES_MAX], n = 0;
        uint32_t state = 1; /* the same order in every run */
        int r = 0;
        for (size_t i = 0; i < bench_cases_len && n < CASES_MAX; i++)
                if (!b->series[i].skipped[0])
                        order[n++] = i;
        for (uint64_t round = 0; round < b->rounds + WARM_UP && r == 0; round++) {
                bench_shuffle(order, n, &state);
                bench_progress(round, b->rounds + WARM_UP);
                for (size_t i = 0; i < n && r == 0; i++)
                        r = take_turn(b, order[i], round >= WARM_UP, err);
        }
        bench_progress(1, 1);
        for (size_t i = 0; i < bench_cases_len; i++)
                bench_sort(&b->series[i]);
        return r;
}
