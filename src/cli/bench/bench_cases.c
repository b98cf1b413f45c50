/* cli/bench/bench_cases.c -- the cases of the latency measurement, and the programs and daemons that they
 * need.
 *
 * There are several daemons, because a request is served from the first pool that fits: one with a template
 * but no ready sandboxes, one with spare sandboxes, one with pools, one with a single pool that has pandas
 * imported. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/bench/bench.h"
#include "snapshot/preload.h"

#define SH_CODE "echo hi"
#define PYTHON_CODE "print(1+1)"
#define PANDAS_CODE "import pandas; print(pandas.DataFrame({'a':[1,2]}).a.sum())"
#define NODE_CODE "console.log(1)"
#define BODY(runtime, code) "{\"runtime\": \"" runtime "\", \"code\": \"" code "\"}"
#define PRELOAD "\"preload\": \"" PRELOAD_AUTO "\""

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* The smallest view that runs an interpreter; bench/compare has a case with a view like that of Cella. */
#define BWRAP                                                                                                \
        "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin",  \
                "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc",        \
                "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/workspace", "--"

const struct bench_group bench_groups[] = {
        {"sh", "sh: " SH_CODE},
        {"python3", "python3: " PYTHON_CODE},
        {"pandas", "python3: import pandas, the sum of a small DataFrame"},
        {"node", "node: " NODE_CODE},
        {"client", "no code at all: what a request costs this client"},
};
const size_t bench_groups_len = ARRAY_LEN(bench_groups);

#define SH .group = "sh", .line = "hi", .runtime = "sh", .body = BODY("sh", SH_CODE)
#define PYTHON .group = "python3", .line = "2", .runtime = "python3"
#define PANDAS .group = "pandas", .line = "3", .runtime = "python3", .body = BODY("python3", PANDAS_CODE)
#define NODE .group = "node", .line = "1", .runtime = "node", .body = BODY("node", NODE_CODE)

const struct bench_case bench_cases[] = {
        {SH, .way = "bare", .title = "bare", .argv = WORDS("sh", "-c", SH_CODE),
         .why_not = "sh does not run"},
        {SH, .way = "bwrap", .title = "bwrap, least view", .argv = WORDS(BWRAP, "sh", "-c", SH_CODE),
         .why_not = "bwrap does not run here"},
        {SH, .way = "library_fresh", .title = "library, fresh sandbox", .kind = BENCH_LIBRARY_FRESH},
        {SH, .way = "library_ready", .title = "library, ready sandbox", .kind = BENCH_LIBRARY_READY},
        {SH, .way = "cold", .title = "daemon, fresh sandbox (cold)", .kind = BENCH_EXEC,
         .daemon = BENCH_PLAIN},
        {SH, .way = "spare", .title = "daemon, spare sandbox", .kind = BENCH_EXEC, .daemon = BENCH_SPARE},
        {SH, .way = "ready", .title = "daemon, ready sandbox", .kind = BENCH_EXEC_READY,
         .daemon = BENCH_PLAIN},
        {SH, .way = "pooled", .title = "daemon, pooled", .kind = BENCH_EXEC, .daemon = BENCH_POOLED,
         .expects = BENCH_HIT},

        {PYTHON, .way = "bare", .title = "bare", .argv = WORDS("python3", "-c", PYTHON_CODE),
         .why_not = "python3 does not run"},
        {PYTHON, .way = "bwrap", .title = "bwrap, least view",
         .argv = WORDS(BWRAP, "python3", "-c", PYTHON_CODE), .why_not = "bwrap does not run here"},
        /* An environment variable that affects the start of the interpreter prevents the use of a started
         * one. */
        {PYTHON, .way = "cold", .title = "daemon, fresh sandbox (cold)", .kind = BENCH_EXEC,
         .daemon = BENCH_PLAIN,
         .body = "{\"runtime\": \"python3\", \"code\": \"" PYTHON_CODE
                 "\", \"env\": {\"PYTHONDONTWRITEBYTECODE\": \"1\"}}"},
        {PYTHON, .way = "template", .title = "daemon, fresh, from the template", .kind = BENCH_EXEC,
         .daemon = BENCH_PLAIN, .expects = BENCH_MISS, .body = BODY("python3", PYTHON_CODE)},
        {PYTHON, .way = "on_demand", .title = "daemon, pool empty: from the template", .kind = BENCH_EXEC,
         .daemon = BENCH_SPARE, .expects = BENCH_MISS, .body = BODY("python3", PYTHON_CODE)},
        {PYTHON, .way = "pooled", .title = "daemon, pooled", .kind = BENCH_EXEC, .daemon = BENCH_POOLED,
         .expects = BENCH_HIT, .body = BODY("python3", PYTHON_CODE)},

        {PANDAS, .way = "bare", .title = "bare", .argv = WORDS("python3", "-c", PANDAS_CODE),
         .why_not = "pandas is not installed"},
        {PANDAS, .way = "pooled", .title = "daemon, pooled, pandas preloaded", .kind = BENCH_EXEC,
         .daemon = BENCH_PANDAS, .expects = BENCH_HIT},

        {NODE, .way = "bare", .title = "bare", .argv = WORDS("node", "-e", NODE_CODE),
         .why_not = "node does not run"},
        {NODE, .way = "pooled", .title = "daemon, pooled", .kind = BENCH_EXEC, .daemon = BENCH_POOLED,
         .expects = BENCH_HIT},

        {.group = "client", .way = "get", .title = "GET /healthz", .kind = BENCH_GET, .daemon = BENCH_POOLED},
};
const size_t bench_cases_len = ARRAY_LEN(bench_cases);

/* ---- installed programs ---- */

bool bench_find_program(const char *name, char *ret, size_t size)
{
        static const char *const places[] = {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin",
                                             "/usr/bin",        "/sbin",          "/bin"};
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
                snprintf(ret, size, "%s/%s", places[i], name);
                if (access(ret, X_OK) == 0)
                        return true;
        }
        return false;
}

static void look_for_program(const struct bench_case *c, struct bench_series *s)
{
        if (!bench_find_program(c->argv[0], s->program, sizeof s->program))
                snprintf(s->skipped, sizeof s->skipped, "%s is not installed", c->argv[0]);
        else if (bench_run_spawn(s->program, c->argv, c->line) < 0 && !bench_interrupted)
                snprintf(s->skipped, sizeof s->skipped, "%s", c->why_not);
}

/* Returns why a group cannot be measured; "": it can. */
static const char *group_skipped(const struct bench *b, const char *group)
{
        for (size_t i = 0; i < bench_cases_len; i++)
                if (!strcmp(bench_cases[i].group, group) && !strcmp(bench_cases[i].way, "bare"))
                        return b->series[i].skipped;
        return "";
}

static void look_for_programs(struct bench *b)
{
        for (size_t i = 0; i < bench_cases_len && !bench_interrupted; i++)
                if (bench_cases[i].kind == BENCH_SPAWN)
                        look_for_program(&bench_cases[i], &b->series[i]);
        for (size_t i = 0; i < bench_cases_len; i++)
                if (!b->series[i].skipped[0])
                        snprintf(b->series[i].skipped, sizeof b->series[i].skipped, "%.99s",
                                 group_skipped(b, bench_cases[i].group));
}

/* ---- the daemons ---- */

#define NO_SPARE "{\"sandboxes\": {\"spare\": 0}, "
#define TEMPLATE "{\"runtime\": \"python3\", \"size\": 0, " PRELOAD "}"

static int start_daemons(struct bench *b, struct cella_err *err)
{
        char pools[400];
        const bool python = !group_skipped(b, "python3")[0], node = !group_skipped(b, "node")[0];
        int r = bench_daemon_start(&b->daemons[BENCH_PLAIN],
                                   python ? NO_SPARE "\"pools\": [" TEMPLATE "]}" : NO_SPARE "\"pools\": []}",
                                   err);
        if (r == 0)
                r = bench_daemon_start(&b->daemons[BENCH_SPARE],
                                       python ? "{\"pools\": [" TEMPLATE "]}" : "{\"pools\": []}", err);
        snprintf(pools, sizeof pools, NO_SPARE "\"pools\": [{\"runtime\": \"sh\", \"size\": 4}%s%s]}",
                 python ? ", {\"runtime\": \"python3\", \"size\": 4, " PRELOAD "}" : "",
                 node ? ", {\"runtime\": \"node\", \"size\": 2}" : "");
        if (r == 0)
                r = bench_daemon_start(&b->daemons[BENCH_POOLED], pools, err);
        if (r == 0 && !group_skipped(b, "pandas")[0])
                r = bench_daemon_start(
                        &b->daemons[BENCH_PANDAS],
                        "{\"pools\": [{\"runtime\": \"python3\", \"size\": 2, \"preload\": [\"pandas\"]}]}",
                        err);
        for (int i = 0; i < BENCH_N_DAEMONS && r == 0; i++)
                if (b->daemons[i].pid > 0)
                        r = bench_daemon_settle(&b->daemons[i], err);
        return r;
}

static int build_requests(struct bench *b, struct cella_err *err)
{
        char id[40], path[80];
        int r = bench_daemon_sandbox(&b->daemons[BENCH_PLAIN], id, sizeof id, err);
        if (r < 0)
                return r;
        snprintf(path, sizeof path, "/v1/sandboxes/%s/exec", id);
        for (size_t i = 0; i < bench_cases_len; i++) {
                const struct bench_case *c = &bench_cases[i];
                struct bench_series *s = &b->series[i];
                if (c->kind < BENCH_GET)
                        continue;
                s->request =
                        c->kind == BENCH_GET
                                ? bench_request("GET", "/healthz", NULL)
                                : bench_request("POST", c->kind == BENCH_EXEC ? "/v1/exec" : path, c->body);
                if (!s->request)
                        return err_set(err, CELLA_INTERNAL, -ENOMEM, "bench");
                s->request_len = strlen(s->request);
        }
        return 0;
}

int bench_cases_prepare(struct bench *b, struct cella_err *err)
{
        struct cella_options o;
        cella_options_default(&o);
        for (size_t i = 0; i < bench_cases_len; i++)
                if (!(b->series[i].times = calloc(b->rounds, sizeof *b->series[i].times)))
                        return err_set(err, CELLA_INTERNAL, -ENOMEM, "bench");
        look_for_programs(b);
        int r = bench_interrupted ? -EINTR : cella_sandbox_new(&o, &b->ready, err);
        if (r == 0)
                r = start_daemons(b, err);
        return r < 0 ? r : build_requests(b, err);
}
