/* cli/bench/bench_corpus.c -- `cella bench --corpus`: whole programs, each bare and through the API of a
 * daemon with default settings.
 *
 * A program is a file whose extension names its language.  A comment "needs: NAME..." in one of its first
 * lines lists packages (shell: commands); the program is left out if one of them is not installed. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/bench/bench.h"
#include "cli/program.h"
#include "config.h"

#define CODE_MAX 100000 /* code of a shell is one argument, at most 128 KiB */
#define WARM_UP 1       /* rounds that do not count */
#define HEAD_LINES 5    /* where "needs:" may be */
#define NEEDS "needs:"

/* ---- languages ---- */

/* A probe prints an empty line if the package is installed. */
static const struct bench_language languages[] = {
        {".py",
         "python",
         "python3",
         "-c",
         "main.py",
         {"import importlib.util as u; print('' if u.find_spec('", "') else 'missing')"}},
        {".sh", "shell", "sh", "-c", NULL, {"command -v ", " >/dev/null && echo"}},
        {".bash", "shell", "bash", "-c", NULL, {"command -v ", " >/dev/null && echo"}},
        {".js", "node", "node", "-e", "main.js", {"require.resolve('", "'); console.log()"}},
};

static const struct bench_language *find_language(const char *name)
{
        const char *dot = strrchr(name, '.');
        for (size_t i = 0; dot && i < ARRAY_LEN(languages); i++)
                if (!strcmp(dot, languages[i].extension))
                        return &languages[i];
        return NULL;
}

/* ---- reading the directory ---- */

/* The result ends with a NUL. */
static char *read_code(const char *path, struct cella_err *err)
{
        const char *problem = NULL;
        char *code = calloc(1, CODE_MAX + 2);
        FILE *f = fopen(path, "re");
        size_t n = f && code ? fread(code, 1, CODE_MAX + 1, f) : 0;
        if (!f || !code || ferror(f))
                problem = "cannot be read";
        else if (n > CODE_MAX)
                problem = "is larger than 100,000 bytes";
        else if (strlen(code) != n)
                problem = "contains a NUL byte";
        if (f)
                fclose(f);
        if (!problem)
                return code;
        free(code);
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%.120s %s", path, problem);
        return NULL;
}

static int add_program(struct bench_corpus *c, const char *path, const char *name, struct cella_err *err)
{
        if (c->n == BENCH_PROGRAMS_MAX)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "%.120s: more than %d programs",
                               c->directory, BENCH_PROGRAMS_MAX);
        struct bench_program *p = &c->programs[c->n];
        *p = (struct bench_program){.language = find_language(name)};
        snprintf(p->name, sizeof p->name, "%s", name);
        p->code = read_code(path, err);
        if (!p->code)
                return -EINVAL;
        c->n++;
        p->bare.times = calloc(c->rounds, sizeof *p->bare.times);
        p->cella.times = calloc(c->rounds, sizeof *p->cella.times);
        return p->bare.times && p->cella.times ? 0 : err_set(err, CELLA_INTERNAL, -ENOMEM, "bench");
}

/* Adds the programs of a directory and of its subdirectories, in alphabetical order. */
static int add_directory(struct bench_corpus *c, const char *directory, unsigned depth, struct cella_err *err)
{
        struct dirent **names = NULL;
        int r = 0, n = scandir(directory, &names, NULL, alphasort);
        if (n < 0)
                return err_set(err, CELLA_INVALID_REQUEST, -errno, "cannot read %.150s", directory);
        for (int i = 0; i < n; free(names[i++])) {
                char path[PATH_MAX];
                struct stat st;
                const char *name = names[i]->d_name;
                snprintf(path, sizeof path, "%s/%s", directory, name);
                if (r < 0 || name[0] == '.' || stat(path, &st) < 0)
                        continue;
                if (S_ISDIR(st.st_mode) && depth > 0)
                        r = add_directory(c, path, depth - 1, err);
                else if (S_ISREG(st.st_mode) && find_language(name))
                        r = add_program(c, path, name, err);
        }
        free(names);
        return r;
}

/* The programs of Cella are in the source tree of a build directory, or installed. */
static int find_directory(const char *given, struct bench_corpus *c, struct cella_err *err)
{
        char places[2][PROGRAM_SIZE] = {"", CELLA_DATADIR "/cella/corpus"};
        char self[PROGRAM_DIRECTORY_SIZE], *found = NULL;
        program_directory(self);
        snprintf(places[0], sizeof places[0], "%s/../../bench/corpus", self);
        if (given)
                found = realpath(given, NULL);
        for (size_t i = 0; !given && !found && i < ARRAY_LEN(places); i++)
                found = realpath(places[i], NULL);
        if (!found && given)
                return err_set(err, CELLA_INVALID_REQUEST, -errno, "--corpus: cannot read %.150s", given);
        if (!found)
                return err_say(err, CELLA_NOT_FOUND, -ENOENT,
                               "the programs of cella bench --corpus are not installed: name a directory");
        bool fits = strlen(found) < sizeof c->directory;
        snprintf(c->directory, sizeof c->directory, "%s", found);
        free(found);
        return fits ? 0
                    : err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG, "--corpus: the path is too long");
}

static int read_programs(struct bench_corpus *c, struct cella_err *err)
{
        c->programs = calloc(BENCH_PROGRAMS_MAX, sizeof *c->programs);
        if (!c->programs)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "bench");
        int r = add_directory(c, c->directory, 1, err);
        if (r == 0 && c->n == 0)
                r = err_say(err, CELLA_INVALID_REQUEST, -ENOENT,
                            "%.120s contains no program (.py, .js, .sh, .bash)", c->directory);
        return r;
}

/* ---- what a program needs ---- */

/* Finds the list of packages in the first lines.  Returns NULL if there is none. */
static const char *find_needs(const char *code)
{
        for (int line = 0; line < HEAD_LINES && *code; line++) {
                const char *text = code + strspn(code, "#/* ");
                if (text > code && !strncmp(text, NEEDS, strlen(NEEDS)))
                        return text + strlen(NEEDS);
                code += strcspn(code, "\n");
                code += *code == '\n';
        }
        return NULL;
}

/* Returns whether the package is installed, as code outside of sandboxes sees it. */
static bool has_package(const struct bench_program *p, const char *package)
{
        const struct bench_language *l = p->language;
        char code[200];
        const char *const argv[] = {l->runtime, l->eval, code, NULL};
        snprintf(code, sizeof code, "%s%s%s", l->probe[0], package, l->probe[1]);
        return bench_run_spawn(p->bare.program, argv, "") == 0;
}

static void look_for_packages(struct bench_program *p)
{
        const char *at = find_needs(p->code);
        const char *end = at ? at + strcspn(at, "\n") : NULL;
        while (at && (at += strspn(at, " \t,")) < end && !p->bare.skipped[0]) {
                char package[64];
                size_t len =
                        strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-@/");
                snprintf(package, sizeof package, "%.*s", (int)len, at);
                if (len == 0 || len >= sizeof package)
                        snprintf(p->bare.skipped, sizeof p->bare.skipped, "bad name after \"" NEEDS "\"");
                else if (!has_package(p, package))
                        snprintf(p->bare.skipped, sizeof p->bare.skipped, "%s is not installed", package);
                at += len;
        }
}

static char *build_request(const struct bench_program *p)
{
        char *body = NULL, *request = NULL;
        size_t len = 0;
        FILE *f = open_memstream(&body, &len);
        if (!f)
                return NULL;
        struct json j = {.out = f};
        json_put_open(&j, NULL, '{');
        json_put_string(&j, "runtime", p->language->runtime);
        json_put_string(&j, "code", p->code);
        json_put_close(&j, '}');
        if (fclose(f) == 0)
                request = bench_request("POST", "/v1/exec", body);
        free(body);
        return request;
}

static int bench_corpus_prepare(struct bench_corpus *c, struct cella_err *err)
{
        for (size_t i = 0; i < c->n && !bench_interrupted; i++) {
                struct bench_program *p = &c->programs[i];
                const char *runtime = p->language->runtime;
                if (!bench_find_program(runtime, p->bare.program, sizeof p->bare.program))
                        snprintf(p->bare.skipped, sizeof p->bare.skipped, "%s is not installed", runtime);
                else
                        look_for_packages(p);
                p->cella.request = build_request(p);
                if (!p->cella.request)
                        return err_set(err, CELLA_INTERNAL, -ENOMEM, "bench");
                p->cella.request_len = strlen(p->cella.request);
        }
        for (int i = 0; i < 2; i++)
                if (!(c->output[i] = malloc(BENCH_OUTPUT_MAX + 1)))
                        return err_set(err, CELLA_INTERNAL, -ENOMEM, "bench");
        return bench_interrupted ? -EINTR : 0;
}

/* ---- all programs ---- */

static int run_rounds(struct bench_corpus *c, struct cella_err *err)
{
        size_t *order = calloc(c->n, sizeof *order), n = 0;
        uint32_t state = 1; /* the same order in every run */
        int r = order ? 0 : err_set(err, CELLA_INTERNAL, -ENOMEM, "bench");
        for (size_t i = 0; i < c->n && order; i++)
                if (!c->programs[i].bare.skipped[0])
                        order[n++] = i;
        for (; c->runs < c->rounds + WARM_UP && r == 0; c->runs++) {
                bench_shuffle(order, n, &state);
                bench_progress(c->runs, c->rounds + WARM_UP);
                for (size_t i = 0; i < n && r == 0; i++)
                        r = bench_corpus_turn(c, &c->programs[order[i]], c->runs % 2 == 0, c->runs >= WARM_UP,
                                              err);
        }
        bench_progress(1, 1);
        free(order);
        for (size_t i = 0; i < c->n; i++) {
                bench_sort(&c->programs[i].bare);
                bench_sort(&c->programs[i].cella);
        }
        return r;
}

static void bench_corpus_done(struct bench_corpus *c)
{
        bench_daemon_stop(&c->daemon);
        for (size_t i = 0; i < c->n; i++) {
                struct bench_program *p = &c->programs[i];
                free(p->code);
                free(p->bare.times);
                free(p->cella.times);
                free(p->cella.request);
        }
        free(c->programs);
        free(c->output[0]);
        free(c->output[1]);
}

int bench_corpus(const char *directory, uint64_t rounds, bool json, struct cella_err *err)
{
        static struct bench_corpus c;
        c = (struct bench_corpus){.rounds = rounds, .json = json, .daemon = BENCH_DAEMON_NONE};
        int r = find_directory(directory, &c, err);
        if (r == 0 && chdir("/") < 0) /* interpreters must not find modules in the current directory */
                r = err_set(err, CELLA_INTERNAL, -errno, "bench");
        if (r == 0)
                r = read_programs(&c, err);
        if (r == 0)
                r = bench_corpus_prepare(&c, err);
        if (r == 0)
                r = bench_daemon_start(&c.daemon, "{}", err);
        if (r == 0)
                r = bench_daemon_settle(&c.daemon, err);
        if (r == 0)
                r = run_rounds(&c, err);
        if (bench_interrupted)
                r = -EINTR;
        if (r == 0)
                r = (int)bench_corpus_report(&c);
        bench_corpus_done(&c);
        return r;
}
