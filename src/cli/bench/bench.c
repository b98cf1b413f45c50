/* cli/bench/bench.c -- `cella bench`: measures the cost of a sandbox on this machine, compared with no
 * sandbox.
 *
 * It always cleans up: a signal only sets a flag, and everything in progress stops at its next step, so that
 * there is one way out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/bench/bench.h"
#include "cli/cli.h"

#define ROUNDS 200
#define CORPUS_ROUNDS 10
#define SECONDS 5
#define ROUNDS_MAX 10000
#define SECONDS_MAX 3600
#define LIVE_MAX 20000
#define EXIT_WRONG 1 /* an answer was wrong */

volatile sig_atomic_t bench_interrupted;

struct options {
        uint64_t rounds, seconds, connections, live; /* 0: not given */
        bool corpus, json;
};

static const struct cli_option options[] = {
        {"corpus", NULL, "run the programs of DIR (Cella's own) bare and through the API, and compare",
         CLI_INTO(CLI_FLAG, struct options, corpus)},
        {"rounds", "N", "number of rounds (200; with --corpus 10)",
         CLI_INTO(CLI_COUNT, struct options, rounds)},
        {"seconds", "N", "duration of the throughput measurement, pooled and bare each (5)",
         CLI_INTO(CLI_COUNT, struct options, seconds)},
        {"connections", "N", "concurrent connections for it (4 per core, at most 64)",
         CLI_INTO(CLI_COUNT, struct options, connections)},
        {"live", "N", "also create this many python3 sandboxes and run code in each",
         CLI_INTO(CLI_COUNT, struct options, live)},
        {"json", NULL, "print one JSON object", CLI_INTO(CLI_FLAG, struct options, json)},
};

static void bench_on_signal(int number)
{
        bench_interrupted = number;
}

/* Without SA_RESTART, so that blocking calls return. */
static void catch_signals(void)
{
        static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
        struct sigaction old, action = {.sa_handler = bench_on_signal};
        for (size_t i = 0; i < ARRAY_LEN(signals); i++)
                if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
                        sigaction(signals[i], &action, NULL);
}

static int bench_measure(struct bench *b, struct cella_err *err)
{
        int r = bench_cases_prepare(b, err);
        if (r == 0)
                r = bench_rounds(b, err);
        bench_daemon_stop(&b->daemons[BENCH_PLAIN]);
        bench_daemon_stop(&b->daemons[BENCH_SPARE]);
        bench_daemon_stop(&b->daemons[BENCH_PANDAS]);
        if (r == 0)
                r = bench_load(b, err);
        if (r == 0)
                r = bench_idle(b, err);
        if (r == 0 && b->live_n > 0)
                r = bench_live(b, err);
        return bench_interrupted ? -EINTR : r;
}

static void bench_done(struct bench *b)
{
        for (int i = 0; i < BENCH_N_DAEMONS; i++)
                bench_daemon_stop(&b->daemons[i]);
        cella_sandbox_free(b->ready);
        for (size_t i = 0; b->series && i < bench_cases_len; i++) {
                free(b->series[i].times);
                free(b->series[i].request);
        }
        free(b->series);
}

static int bench(const struct options *o, struct cella_err *err)
{
        static struct bench b;
        b = (struct bench){.rounds = o->rounds ? o->rounds : ROUNDS,
                           .seconds = o->seconds ? o->seconds : SECONDS,
                           .connections = o->connections,
                           .live_n = o->live,
                           .json = o->json};
        for (int i = 0; i < BENCH_N_DAEMONS; i++)
                b.daemons[i] = (struct bench_daemon)BENCH_DAEMON_NONE;
        b.series = calloc(bench_cases_len, sizeof *b.series);
        int r = chdir("/") < 0 ? -errno : 0; /* interpreters must not find modules in the current directory */
        if (!b.series || r < 0)
                r = err_set(err, CELLA_INTERNAL, r < 0 ? r : -ENOMEM, "bench");
        if (r == 0)
                r = bench_measure(&b, err);
        if (r == 0)
                r = bench_report(&b) > 0 ? EXIT_WRONG : 0;
        bench_done(&b);
        return r;
}

static int bench_check(const struct options *o, int words, char **argv, struct cella_err *err)
{
        const int most = o->corpus ? 1 : 0;
        if (words > most)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "cella bench takes no '%.40s'",
                               argv[1 + most]);
        if (o->corpus && (o->seconds || o->connections || o->live))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--corpus measures no throughput: of the numbers it takes only --rounds");
        const struct {
                const char *name;
                uint64_t value, max;
        } numbers[] = {{"rounds", o->rounds, ROUNDS_MAX},
                       {"seconds", o->seconds, SECONDS_MAX},
                       {"connections", o->connections, BENCH_CONNECTIONS_MAX},
                       {"live", o->live, LIVE_MAX}};
        for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
                if (numbers[i].value > numbers[i].max)
                        return err_say(err, CELLA_INVALID_REQUEST, -ERANGE, "--%s must be at most %llu",
                                       numbers[i].name, (unsigned long long)numbers[i].max);
        return 0;
}

static int bench_main(const struct cli_command *self, int argc, char **argv)
{
        struct cella_err err = {0};
        struct options o = {0};
        int words = cli_parse_all(self, argc, argv, &o, NULL, &err);
        int r = words < 0 ? words : bench_check(&o, words, argv, &err);
        if (r < 0)
                return cli_finish(r, &err, o.json);
        catch_signals();
        if (!o.corpus)
                r = bench(&o, &err);
        else if ((r = bench_corpus(words > 0 ? argv[1] : NULL, o.rounds ? o.rounds : CORPUS_ROUNDS, o.json,
                                   &err)) > 0)
                r = EXIT_WRONG;
        return cli_finish(bench_interrupted ? 128 + bench_interrupted : r, &err, o.json);
}

const struct cli_command cli_bench = {
        .name = "bench",
        .usage = "[--rounds N] [--seconds N] [--connections N] [--live N] [--json] |\n"
                 "                   --corpus [DIR] [--rounds N] [--json]",
        .text = "Every case runs once before any runs again: bare, in sandboxes of the library, and through\n"
                "daemons that the benchmark starts, cold and from pools.  Each answer is checked.  Compare\n"
                "only figures of one run with each other.\n"
                "\n"
                "--corpus runs whole programs (.py, .js, .sh, .bash) instead: each bare, without a sandbox, "
                "and\n"
                "through the API of a daemon with default settings, in turns.  It prints both times and "
                "their\n"
                "ratio, and the median and the worst ratio of each language.  The exit status is 1 if "
                "output\n"
                "or exit status of a program differ.",
        .examples = "  cella bench\n"
                    "  cella bench --rounds 50 --json\n"
                    "  cella bench --corpus ./programs\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = bench_main,
};
