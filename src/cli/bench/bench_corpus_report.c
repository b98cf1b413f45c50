/* cli/bench/bench_corpus_report.c -- prints the results of `cella bench --corpus`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/json.h"
#include "cli/bench/bench.h"
#include "cli/text.h"

static const char *const names[] = {"python", "shell", "node"};

/* What the programs of one language have in common. */
struct summary {
        size_t measured;
        double median, worst; /* ratios */
        const struct bench_program *worst_program;
};

/* Returns the ratio of the medians; 0: it was not measured. */
static double bench_corpus_report_ratio(const struct bench_program *p)
{
        double bare = bench_quantile(&p->bare, 500);
        return bare > 0 ? bench_quantile(&p->cella, 500) / bare : 0;
}

static bool is_of(const struct bench_program *p, const char *language)
{
        return !strcmp(p->language->name, language);
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return x < y ? -1 : x > y;
}

static struct summary summarize(const struct bench_corpus *c, const char *language)
{
        struct summary s = {0};
        double ratios[BENCH_PROGRAMS_MAX] = {0};
        for (size_t i = 0; i < c->n; i++) {
                const struct bench_program *p = &c->programs[i];
                if (!is_of(p, language) || bench_corpus_report_ratio(p) <= 0)
                        continue;
                ratios[s.measured++] = bench_corpus_report_ratio(p);
                if (bench_corpus_report_ratio(p) > s.worst) {
                        s.worst = bench_corpus_report_ratio(p);
                        s.worst_program = p;
                }
        }
        qsort(ratios, s.measured, sizeof *ratios, by_value);
        s.median = s.measured > 0 ? ratios[s.measured / 2] : 0;
        return s;
}

struct counts {
        size_t measured, skipped, different;
};

static struct counts bench_corpus_report_count(const struct bench_corpus *c)
{
        struct counts n = {0};
        for (size_t i = 0; i < c->n; i++) {
                n.measured += bench_corpus_report_ratio(&c->programs[i]) > 0;
                n.skipped += c->programs[i].bare.skipped[0] != '\0';
                n.different += c->programs[i].differs[0] != '\0';
        }
        return n;
}

/* ---- the table ---- */

static void print_program(const struct bench_corpus *c, const struct bench_program *p)
{
        char name[41], x[24];
        text_safe(name, sizeof name, p->name);
        if (p->bare.skipped[0])
                printf("  %-40s left out: %s\n", name, p->bare.skipped);
        else if (bench_corpus_report_ratio(p) > 0)
                printf("  %-40s%10.2f%10.2f%10s\n", name, bench_quantile(&p->bare, 500),
                       bench_quantile(&p->cella, 500),
                       bench_show_ratio(bench_corpus_report_ratio(p), x, sizeof x));
        else
                printf("  %s\n", name);
        if (p->differs[0])
                printf("    differs in %llu of %llu runs: %s\n", (unsigned long long)p->cella.failures,
                       (unsigned long long)c->runs, p->differs);
}

static void print_language(const struct bench_corpus *c, const char *language)
{
        const struct summary s = summarize(c, language);
        char name[41], x[24];
        bool begun = false;
        for (size_t i = 0; i < c->n; i++) {
                if (!is_of(&c->programs[i], language))
                        continue;
                if (!begun)
                        printf("%-42s%10s%10s%10s\n", language, "bare, ms", "Cella, ms", "x bare");
                begun = true;
                print_program(c, &c->programs[i]);
        }
        if (!s.worst_program)
                return;
        text_safe(name, sizeof name, s.worst_program->name);
        printf("  median of %-50zu%10s\n", s.measured, bench_show_ratio(s.median, x, sizeof x));
        printf("  worst: %-53s%10s\n", name, bench_show_ratio(s.worst, x, sizeof x));
}

/* ---- JSON ---- */

static void put_program(struct json *j, const struct bench_program *p)
{
        json_put_open(j, NULL, '{');
        json_put_string(j, "name", p->name);
        json_put_string(j, "language", p->language->name);
        json_put_string(j, "runtime", p->language->runtime);
        bench_put_text(j, "skipped", p->bare.skipped);
        json_put_number(j, "n", p->cella.n);
        json_put_number(j, "failures", p->cella.failures);
        bench_put_text(j, "differs", p->differs);
        bench_put_time(j, "bare_ms", &p->bare, 500);
        bench_put_time(j, "cella_ms", &p->cella, 500);
        bench_put_ratio(j, "x_bare", bench_corpus_report_ratio(p));
        json_put_close(j, '}');
}

static void put_language(struct json *j, const struct bench_corpus *c, const char *language)
{
        const struct summary s = summarize(c, language);
        json_put_open(j, NULL, '{');
        json_put_string(j, "language", language);
        json_put_number(j, "measured", s.measured);
        bench_put_ratio(j, "median_x_bare", s.median);
        bench_put_ratio(j, "worst_x_bare", s.worst);
        bench_put_text(j, "worst", s.worst_program ? s.worst_program->name : "");
        json_put_close(j, '}');
}

static void put_all(const struct bench_corpus *c, const struct counts *n)
{
        struct json j = {.out = stdout};
        bench_put_head(&j, c->rounds);
        json_put_string(&j, "corpus", c->directory);
        json_put_open(&j, "programs", '[');
        for (size_t i = 0; i < c->n; i++)
                put_program(&j, &c->programs[i]);
        json_put_close(&j, ']');
        json_put_open(&j, "languages", '[');
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                put_language(&j, c, names[i]);
        json_put_close(&j, ']');
        json_put_number(&j, "measured", n->measured);
        json_put_number(&j, "skipped", n->skipped);
        json_put_number(&j, "different", n->different);
        json_put_close(&j, '}');
        putchar('\n');
}

uint64_t bench_corpus_report(const struct bench_corpus *c)
{
        const struct counts n = bench_corpus_report_count(c);
        if (c->json) {
                put_all(c, &n);
                return n.different;
        }
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                print_language(c, names[i]);
        printf("%zu programs: %zu measured, %zu left out, %zu different; rounds: %llu\n", c->n, n.measured,
               n.skipped, n.different, (unsigned long long)c->rounds);
        return n.different;
}
