/* cli/bench/bench_report.c -- prints the results as a table or as one JSON object. */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/json.h"
#include "cli/bench/bench.h"

/* ---- figures ---- */

double bench_quantile(const struct bench_series *s, size_t thousandths)
{
        size_t i = s->n * thousandths / 1000;
        return s->n == 0 ? 0 : s->times[i < s->n ? i : s->n - 1] / 1e3;
}

static const struct bench_series *bench_report_find(const struct bench *b, const char *group, const char *way)
{
        for (size_t i = 0; i < bench_cases_len; i++)
                if (!strcmp(bench_cases[i].group, group) && !strcmp(bench_cases[i].way, way))
                        return &b->series[i];
        return NULL;
}

/* Returns the median relative to that of bare; 0: there is none. */
static double bench_report_ratio(const struct bench *b, const char *group, const struct bench_series *s)
{
        const struct bench_series *bare = bench_report_find(b, group, "bare");
        double of = bare ? bench_quantile(bare, 500) : 0;
        return of > 0 ? bench_quantile(s, 500) / of : 0;
}

static uint64_t count_failures(const struct bench *b)
{
        uint64_t n = b->throughput.failures + b->live.failures;
        for (size_t i = 0; i < bench_cases_len; i++)
                n += b->series[i].failures;
        return n;
}

/* ---- the table ---- */

const char *bench_show_ratio(double x, char *out, size_t size)
{
        if (x <= 0)
                snprintf(out, size, "%s", "");
        else if (x < 0.4)
                snprintf(out, size, "1/%.*f", 1 / x < 10 ? 1 : 0, 1 / x);
        else
                snprintf(out, size, "%.2f", x);
        return out;
}

static void print_case(const struct bench *b, size_t i)
{
        const struct bench_case *c = &bench_cases[i];
        const struct bench_series *s = &b->series[i];
        char x[24];
        if (s->skipped[0]) {
                printf("  %-38s skipped: %s\n", c->title, s->skipped);
                return;
        }
        printf("  %-38s%8.2f%8.2f%8.2f", c->title, bench_quantile(s, 500), bench_quantile(s, 990),
               bench_quantile(s, 0));
        if (bench_report_ratio(b, c->group, s) > 0)
                printf("%8s", bench_show_ratio(bench_report_ratio(b, c->group, s), x, sizeof x));
        putchar('\n');
        if (s->failures || s->misses)
                printf("    of %llu: %llu wrong, %llu %s\n", (unsigned long long)b->rounds,
                       (unsigned long long)s->failures, (unsigned long long)s->misses,
                       c->expects == BENCH_MISS ? "not from the template" : "not from the pool");
}

static void print_latency(const struct bench *b)
{
        printf("%-40s%8s%8s%8s%8s\n", "latency, ms", "p50", "p99", "min", "x bare");
        for (size_t g = 0; g < bench_groups_len; g++) {
                printf("%s\n", bench_groups[g].title);
                for (size_t i = 0; i < bench_cases_len; i++)
                        if (!strcmp(bench_cases[i].group, bench_groups[g].name))
                                print_case(b, i);
        }
        printf("%llu rounds; the daemon adds %.2f ms (median) in a ready sandbox, %.2f ms with a fresh one\n",
               (unsigned long long)b->rounds,
               bench_quantile(bench_report_find(b, "sh", "ready"), 500) -
                       bench_quantile(bench_report_find(b, "sh", "library_ready"), 500),
               bench_quantile(bench_report_find(b, "sh", "cold"), 500) -
                       bench_quantile(bench_report_find(b, "sh", "library_fresh"), 500));
}

static void print_problems(const struct bench *b)
{
        for (int d = 0; d < BENCH_N_DAEMONS; d++)
                for (size_t i = 0; i < b->daemons[d].n_pools; i++)
                        if (b->daemons[d].pools[i].problem[0])
                                printf("problem of the pool of %s: %s\n", b->daemons[d].pools[i].runtime,
                                       b->daemons[d].pools[i].problem);
}

static void print_load(const struct bench_throughput *t)
{
        if (!t->done)
                return;
        printf("\nexecutions a second, python3: %.0f pooled (%u connections), %.0f bare (%u at once): %.1f "
               "x\n",
               t->warm, t->connections, t->bare, t->processes, t->bare > 0 ? t->warm / t->bare : 0);
        printf("  %u s each, in turns of %u s; %llu from the pool, %llu on demand, %llu wrong\n", t->seconds,
               BENCH_SLICE_S, (unsigned long long)t->hits, (unsigned long long)t->misses,
               (unsigned long long)t->failures);
}

static void print_memory(const struct bench_memory *m)
{
        if (m->done && m->skipped[0])
                printf("\nmemory of an idle python3 sandbox: skipped: %s\n", m->skipped);
        if (!m->done || m->skipped[0])
                return;
        printf("\nmemory of an idle python3 sandbox, of %llu: PSS %llu KiB\n",
               (unsigned long long)m->sandboxes, (unsigned long long)m->pss / 1024);
        printf("  the daemon grows by %llu KiB for each; the machine has %lld KiB less, the kernel's "
               "included\n",
               (unsigned long long)m->daemon_pss / 1024, (long long)m->available / 1024);
}

static void print_live(const struct bench_live *l)
{
        if (!l->done)
                return;
        printf("\n%llu python3 sandboxes at once: %llu alive after %.1f s\n", (unsigned long long)l->asked,
               (unsigned long long)l->alive, l->fill_s);
        if (l->problem[0])
                printf("  %s\n", l->problem);
        if (l->memory.done) {
                printf("  each: PSS %llu KiB, the daemon %llu KiB, the machine %lld KiB\n",
                       (unsigned long long)l->memory.pss / 1024,
                       (unsigned long long)l->memory.daemon_pss / 1024,
                       (long long)l->memory.available / 1024);
                printf("  descriptors: keeper %llu, server %llu\n", (unsigned long long)l->keeper_files,
                       (unsigned long long)l->server_files);
        }
        if (l->alive > 0)
                printf("  %llu answered in %.1f s (%.0f a second), %llu wrong, %llu not from the pool\n",
                       (unsigned long long)l->answered, l->answer_s,
                       l->answer_s > 0 ? (double)l->answered / l->answer_s : 0,
                       (unsigned long long)l->failures, (unsigned long long)l->misses);
}

/* ---- JSON ---- */

void bench_put_ratio(struct json *j, const char *key, double x)
{
        char text[32];
        if (x <= 0) {
                json_put_null(j, key);
                return;
        }
        int n = snprintf(text, sizeof text, "%.6f", x);
        json_put_raw(j, key, text, (size_t)n);
}

void bench_put_text(struct json *j, const char *key, const char *text)
{
        if (text[0])
                json_put_string(j, key, text);
        else
                json_put_null(j, key);
}

void bench_put_time(struct json *j, const char *key, const struct bench_series *s, size_t thousandths)
{
        if (s->n > 0)
                json_put_real(j, key, bench_quantile(s, thousandths));
        else
                json_put_null(j, key);
}

static void put_case(struct json *j, const struct bench *b, size_t i)
{
        const struct bench_case *c = &bench_cases[i];
        const struct bench_series *s = &b->series[i];
        json_put_open(j, NULL, '{');
        json_put_string(j, "group", c->group);
        json_put_string(j, "way", c->way);
        json_put_string(j, "title", c->title);
        bench_put_text(j, "skipped", s->skipped);
        json_put_number(j, "n", s->n);
        json_put_number(j, "failures", s->failures);
        json_put_number(j, "misses", s->misses);
        bench_put_time(j, "p50_ms", s, 500);
        bench_put_time(j, "p90_ms", s, 900);
        bench_put_time(j, "p99_ms", s, 990);
        bench_put_time(j, "min_ms", s, 0);
        bench_put_ratio(j, "x_bare", bench_report_ratio(b, c->group, s));
        json_put_close(j, '}');
}

static void put_load(struct json *j, const struct bench_throughput *t)
{
        if (!t->done) {
                json_put_null(j, "throughput");
                return;
        }
        json_put_open(j, "throughput", '{');
        json_put_string(j, "runtime", "python3");
        json_put_number(j, "seconds", t->seconds);
        json_put_number(j, "connections", t->connections);
        json_put_number(j, "processes", t->processes);
        json_put_real(j, "pooled_per_second", t->warm);
        json_put_real(j, "bare_per_second", t->bare);
        json_put_number(j, "hits", t->hits);
        json_put_number(j, "misses", t->misses);
        json_put_number(j, "failures", t->failures);
        bench_put_ratio(j, "x_bare", t->bare > 0 ? t->warm / t->bare : 0);
        json_put_close(j, '}');
}

static void put_memory(struct json *j, const struct bench_memory *m)
{
        char available[32];
        if (!m->done) {
                json_put_null(j, "memory");
                return;
        }
        json_put_open(j, "memory", '{');
        bench_put_text(j, "skipped", m->skipped);
        json_put_number(j, "sandboxes", m->sandboxes);
        json_put_number(j, "pss_bytes", m->pss);
        json_put_number(j, "daemon_pss_bytes", m->daemon_pss);
        int n = snprintf(available, sizeof available, "%lld", (long long)m->available);
        json_put_raw(j, "available_bytes", available, (size_t)n);
        json_put_close(j, '}');
}

static void put_live(struct json *j, const struct bench_live *l)
{
        if (!l->done) {
                json_put_null(j, "live");
                return;
        }
        json_put_open(j, "live", '{');
        bench_put_text(j, "problem", l->problem);
        json_put_number(j, "asked", l->asked);
        json_put_number(j, "alive", l->alive);
        json_put_real(j, "fill_s", l->fill_s);
        json_put_number(j, "answered", l->answered);
        json_put_number(j, "failures", l->failures);
        json_put_number(j, "misses", l->misses);
        json_put_real(j, "answer_s", l->answer_s);
        json_put_number(j, "keeper_files", l->keeper_files);
        json_put_number(j, "server_files", l->server_files);
        put_memory(j, &l->memory);
        json_put_close(j, '}');
}

void bench_put_head(struct json *j, uint64_t rounds)
{
        struct utsname machine = {0};
        uname(&machine);
        json_put_open(j, NULL, '{');
        json_put_string(j, "version", CELLA_VERSION);
        json_put_string(j, "kernel", machine.release);
        json_put_number(j, "cores", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
        json_put_number(j, "rounds", rounds);
}

static void put_all(const struct bench *b)
{
        struct json j = {.out = stdout};
        bench_put_head(&j, b->rounds);
        json_put_open(&j, "cases", '[');
        for (size_t i = 0; i < bench_cases_len; i++)
                put_case(&j, b, i);
        json_put_close(&j, ']');
        put_load(&j, &b->throughput);
        put_memory(&j, &b->memory);
        put_live(&j, &b->live);
        json_put_number(&j, "failures", count_failures(b));
        json_put_close(&j, '}');
        putchar('\n');
}

uint64_t bench_report(const struct bench *b)
{
        if (b->json) {
                put_all(b);
        } else {
                print_latency(b);
                print_problems(b);
                print_load(&b->throughput);
                print_memory(&b->memory);
                print_live(&b->live);
        }
        return count_failures(b);
}
