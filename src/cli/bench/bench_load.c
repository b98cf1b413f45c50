/* cli/bench/bench_load.c -- executions per second, and many sandboxes at once. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/bench/bench.h"
#include "snapshot/preload.h"

#define LIVE_CONNECTIONS 8
#define WORKERS_MAX BENCH_CONNECTIONS_MAX
#define POOL "16"
#define POOL_MAX 1000 /* maximum of one pool in the settings */
#define IDLE 50
#define IDLE_US 200000 /* waiting sandboxes prepare their pages when nothing has run for a moment */
#define FILES_EACH 5   /* descriptors of the keeper per sandbox, plus some */
#define PYTHON "\"runtime\": \"python3\", \"preload\": \"" PRELOAD_AUTO "\""
#define LINE "2"
#define CODE "print(1+1)"

static const char *const bare[] = {"python3", "-c", CODE, NULL};

/* ---- concurrent bare interpreters ---- */

struct workers {
        const char *program;
        atomic_uint done, failed;
        atomic_bool stop;
};

static void *bench_load_work(void *context)
{
        struct workers *w = context;
        while (!w->stop && !bench_interrupted) {
                if (bench_run_spawn(w->program, bare, LINE) == 0) {
                        w->done++;
                        continue;
                }
                w->failed++;
                usleep(10000);
        }
        return NULL;
}

/* Returns the seconds that it took. */
static double run_workers(struct workers *w, unsigned wanted, int64_t us)
{
        pthread_t threads[WORKERS_MAX];
        unsigned n = 0;
        int64_t begun = clock_us();
        while (n < wanted && n < WORKERS_MAX && pthread_create(&threads[n], NULL, bench_load_work, w) == 0)
                n++;
        while (clock_us() - begun < us && !bench_interrupted)
                usleep((useconds_t)(us - (clock_us() - begun)));
        w->stop = true;
        while (n > 0)
                pthread_join(threads[--n], NULL);
        return (double)(clock_us() - begun) / 1e6;
}

/* ---- executions per second ---- */

struct sums {
        double done[2], seconds[2]; /* bare, warm */
};

static void bare_slice(struct bench_throughput *t, const char *program, int64_t us, struct sums *sums)
{
        struct workers w = {.program = program};
        sums->seconds[0] += run_workers(&w, t->processes, us);
        sums->done[0] += w.done;
        t->failures += w.failed;
}

/* Begins with a full pool.  Executions that only empty the pool are not counted. */
static int warm_slice(struct bench_throughput *t, struct bench_daemon *d, const char *request, int64_t us,
                      struct sums *sums, struct cella_err *err)
{
        struct bench_crowd c = {.socket = d->socket, .request = request, .line = LINE, .left = INT64_MAX};
        int r = bench_daemon_settle(d, err);
        const struct bench_pool begun = d->pools[0];
        if (r < 0)
                return r;
        double seconds = bench_crowd_run(&c, t->connections, us);
        r = bench_daemon_pools(d, err);
        if (r < 0)
                return r;
        const struct bench_pool ended = d->pools[0];
        sums->seconds[1] += seconds;
        sums->done[1] += (double)c.done - (double)begun.available + (double)ended.available;
        t->failures += c.failed;
        t->hits += ended.hits - begun.hits;
        t->misses += ended.misses - begun.misses;
        return bench_daemon_settle(d, err);
}

static const char *python_program(const struct bench *b)
{
        for (size_t i = 0; i < bench_cases_len; i++)
                if (!strcmp(bench_cases[i].group, "python3") && !strcmp(bench_cases[i].way, "bare"))
                        return b->series[i].skipped[0] ? NULL : b->series[i].program;
        return NULL;
}

static char *python_request(void)
{
        return bench_request("POST", "/v1/exec", "{\"runtime\": \"python3\", \"code\": \"" CODE "\"}");
}

static unsigned at_once(long n)
{
        return n < 1 ? 1 : n > WORKERS_MAX ? WORKERS_MAX : (unsigned)n;
}

int bench_load(struct bench *b, struct cella_err *err)
{
        struct bench_throughput *t = &b->throughput;
        struct bench_daemon *d = &b->daemons[BENCH_POOLED];
        struct sums sums = {0};
        const char *program = python_program(b);
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        if (!program)
                return 0;
        t->seconds = (unsigned)b->seconds;
        /* Each side uses the concurrency with which it is fastest. */
        t->processes = at_once(cores);
        t->connections = b->connections ? (unsigned)b->connections : at_once(4 * cores);
        char *request = python_request();
        int r = request ? bench_daemon_change(d, "{\"pools\": [{" PYTHON ", \"size\": " POOL "}]}", err)
                        : -ENOMEM;
        for (unsigned left = t->seconds, n; left > 0 && r == 0; left -= n) {
                n = left < BENCH_SLICE_S ? left : BENCH_SLICE_S;
                r = warm_slice(t, d, request, n * INT64_C(1000000), &sums, err);
                if (r == 0)
                        bare_slice(t, program, n * INT64_C(1000000), &sums);
                if (bench_interrupted)
                        r = -EINTR;
        }
        free(request);
        if (r < 0)
                return r;
        t->bare = sums.done[0] / sums.seconds[0];
        t->warm = sums.done[1] / sums.seconds[1];
        t->done = true;
        return 0;
}

/* ---- waiting sandboxes ---- */

/* Fills a pool with n sandboxes, or several pools if n is larger than the maximum of one. */
static int bench_load_fill(struct bench_daemon *d, uint64_t n, struct cella_err *err)
{
        char *text = NULL;
        size_t len = 0;
        FILE *f = open_memstream(&text, &len);
        if (!f)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "bench");
        fprintf(f, "{\"sandboxes\": {\"max\": %llu}, \"pools\": [", (unsigned long long)(n + 64));
        const char *between = "";
        do {
                uint64_t part = n > POOL_MAX ? POOL_MAX : n;
                fprintf(f, "%s{" PYTHON ", \"size\": %llu}", between, (unsigned long long)part);
                between = ", ";
                n -= part;
        } while (n > 0);
        fputs("]}", f);
        fclose(f);
        int r = bench_daemon_change(d, text, err);
        free(text);
        return r < 0 ? r : bench_daemon_settle(d, err);
}

/* Waits until there is no sandbox, including those that are being deleted. */
static int bench_load_empty(struct bench_daemon *d, struct bench_usage *ret, bool *ret_may_look,
                            struct cella_err *err)
{
        int r = bench_load_fill(d, 0, err);
        for (int i = 0; i < 500 && r == 0; i++) {
                *ret_may_look = bench_usage_read(d, ret) == 0;
                if (!*ret_may_look || ret->sandboxes == 0)
                        return 0;
                usleep(20000);
                r = bench_interrupted ? -EINTR : 0;
        }
        return r < 0 ? r : err_say(err, CELLA_INTERNAL, -ETIME, "sandboxes do not end");
}

int bench_idle(struct bench *b, struct cella_err *err)
{
        struct bench_memory *m = &b->memory;
        struct bench_daemon *d = &b->daemons[BENCH_POOLED];
        struct bench_usage before, after;
        bool may_look = false;
        if (!python_program(b))
                return 0;
        m->done = true;
        int r = bench_load_empty(d, &before, &may_look, err);
        if (r == 0 && !may_look) {
                snprintf(m->skipped, sizeof m->skipped, "only root may read the memory of sandboxes");
                return 0;
        }
        if (r == 0)
                r = bench_load_fill(d, IDLE, err);
        usleep(IDLE_US);
        if (r == 0 && (r = bench_usage_read(d, &after)) == 0)
                bench_usage_compare(&before, &after, m);
        return r;
}

/* ---- many at once ---- */

static bool enough_files(uint64_t n, char *why, size_t size)
{
        struct rlimit files;
        if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_max >= n * FILES_EACH + 200)
                return true;
        snprintf(why, size, "needs %llu descriptors, and may have %llu (ulimit -Hn)",
                 (unsigned long long)(n * FILES_EACH + 200), (unsigned long long)files.rlim_max);
        return false;
}

static uint64_t sum_available(const struct bench_daemon *d)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < d->n_pools; i++)
                sum += d->pools[i].available;
        return sum;
}

static uint64_t sum_hits(const struct bench_daemon *d)
{
        uint64_t sum = 0;
        for (size_t i = 0; i < d->n_pools; i++)
                sum += d->pools[i].hits;
        return sum;
}

/* Runs as many executions as there are sandboxes.  The oldest are used first, so each of them answers. */
static int answer_all(struct bench_live *l, struct bench_daemon *d, struct cella_err *err)
{
        char *request = python_request();
        uint64_t hits = sum_hits(d);
        if (!request)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "bench");
        struct bench_crowd c = {
                .socket = d->socket, .request = request, .line = LINE, .left = (long long)l->alive};
        l->answer_s = bench_crowd_run(&c, LIVE_CONNECTIONS, 0);
        free(request);
        l->answered = c.done;
        l->failures = c.failed;
        int r = bench_interrupted ? -EINTR : bench_daemon_pools(d, err);
        if (r == 0)
                l->misses = l->alive - (sum_hits(d) - hits);
        return r;
}

static int fill_live(struct bench_live *l, struct bench_daemon *d, struct cella_err *err)
{
        struct bench_usage before, after;
        bool may_look = false;
        int r = bench_load_empty(d, &before, &may_look, err);
        int64_t begun = clock_us();
        /* continue with the sandboxes that there are */
        if (r == 0 && (r = bench_load_fill(d, l->asked, err)) < 0 && r != -EINTR) {
                snprintf(l->problem, sizeof l->problem, "%.150s", err->msg);
                *err = (struct cella_err){0};
                r = bench_daemon_pools(d, err);
        }
        l->fill_s = (double)(clock_us() - begun) / 1e6;
        l->alive = sum_available(d);
        usleep(IDLE_US);
        if (r == 0 && may_look && bench_usage_read(d, &after) == 0) {
                bench_usage_compare(&before, &after, &l->memory);
                bench_count_files(d, &l->keeper_files, &l->server_files);
        }
        return r;
}

int bench_live(struct bench *b, struct cella_err *err)
{
        struct bench_live *l = &b->live;
        l->asked = b->live_n;
        l->done = true;
        if (!python_program(b))
                snprintf(l->problem, sizeof l->problem, "python3 is not installed");
        if (l->problem[0] || !enough_files(l->asked, l->problem, sizeof l->problem))
                return 0;
        int r = fill_live(l, &b->daemons[BENCH_POOLED], err);
        return r < 0 ? r : answer_all(l, &b->daemons[BENCH_POOLED], err);
}
