/* cli/bench/bench_corpus_run.c -- runs one program of the corpus bare and through the API, and compares the
 * results.
 *
 * Bare, the program runs as Cella runs it: in an empty directory, the code of Python and node in a file
 * there, that of a shell in an argument.  The names of that directory and of HOME in the output count as
 * /workspace.  HOME is kept between runs, so that caches work as they do for a user. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/foreign_json.h"
#include "cli/bench/bench.h"
#include "cli/text.h"

#define BARE_US INT64_C(60000000) /* maximum time of a bare run */
#define PAUSE_US 5000             /* the daemon deletes a sandbox after its answer */
#define VALUES_MAX 100000         /* of the result: a program may write many files */
#define EXCERPT 32                /* bytes of a line that are shown */

static const char workspace[] = "/workspace";

struct output {
        const char *text[2]; /* stdout, stderr */
        size_t len[2];
        int status; /* exit status, 128 + N for signal N; -1: the program did not end */
        int64_t us;
};

/* ---- bare ---- */

static int bench_corpus_run_make_directory(const struct bench_program *p, const char *path)
{
        char file[160];
        bench_remove_tree(path);
        if (mkdir(path, 0700) < 0)
                return -errno;
        if (!p->language->file)
                return 0;
        snprintf(file, sizeof file, "%s/%s", path, p->language->file);
        FILE *f = fopen(file, "we");
        if (!f)
                return -errno;
        int written = fputs(p->code, f);
        return fclose(f) == 0 && written >= 0 ? 0 : -EIO;
}

/* Reads both streams until the program closes them.  Output above the limit is discarded. */
static int read_output(const int fds[2], char *const text[2], size_t len[2], int64_t until_us)
{
        struct pollfd polls[2] = {{.fd = fds[0], .events = POLLIN}, {.fd = fds[1], .events = POLLIN}};
        len[0] = len[1] = 0;
        while (polls[0].fd >= 0 || polls[1].fd >= 0) {
                if (bench_interrupted)
                        return -EINTR;
                int64_t left_us = until_us - clock_us();
                if (left_us <= 0)
                        return -ETIMEDOUT;
                if (poll(polls, 2, (int)(left_us / 1000) + 1) < 0 && errno != EINTR)
                        return -errno;
                for (int i = 0; i < 2; i++) {
                        char rest[4096];
                        size_t room = BENCH_OUTPUT_MAX - len[i];
                        if (polls[i].fd < 0 || !polls[i].revents)
                                continue;
                        ssize_t n = room > 0 ? read(polls[i].fd, text[i] + len[i], room)
                                             : read(polls[i].fd, rest, sizeof rest);
                        if (n > 0 && room > 0)
                                len[i] += (size_t)n;
                        else if (n == 0 || (n < 0 && errno != EINTR))
                                polls[i].fd = -1;
                }
        }
        return 0;
}

static size_t replace_directory(char *text, size_t len, const char *path)
{
        size_t path_len = strlen(path), from = 0, to = 0;
        while (from < len) {
                const char *at = memmem(text + from, len - from, path, path_len);
                size_t before = at ? (size_t)(at - text) - from : len - from;
                memmove(text + to, text + from, before);
                to += before;
                from += before;
                if (at) { /* the name in a sandbox is shorter than the path */
                        memcpy(text + to, workspace, sizeof workspace - 1);
                        to += sizeof workspace - 1;
                        from += path_len;
                }
        }
        return to;
}

static int run_process(const struct bench_program *p, const char *directory, const char *home,
                       char *const text[2], struct output *ret)
{
        const struct bench_language *l = p->language;
        const char *const argv[] = {l->runtime, l->file ? l->file : l->eval, l->file ? NULL : p->code, NULL};
        int pipes[2][2] = {{-1, -1}, {-1, -1}}, status = -1;
        pid_t pid = -1;
        int r = pipe2(pipes[0], O_CLOEXEC) < 0 || pipe2(pipes[1], O_CLOEXEC) < 0 ? -errno : 0;
        int64_t begun = clock_us();
        const struct bench_process process = {.program = p->bare.program,
                                              .argv = argv,
                                              .directory = directory,
                                              .home = home,
                                              .out = pipes[0][1],
                                              .err = pipes[1][1]};
        if (r == 0)
                r = bench_spawn(&process, &pid);
        close(pipes[0][1]);
        close(pipes[1][1]);
        if (r == 0) {
                r = read_output((const int[]){pipes[0][0], pipes[1][0]}, text, ret->len, begun + BARE_US);
                if (r < 0)
                        kill(-pid, SIGKILL);
                while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                        continue;
                ret->us = clock_us() - begun;
                kill(-pid, SIGKILL); /* processes that the program left */
        }
        close(pipes[0][0]);
        close(pipes[1][0]);
        ret->status = r < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return r;
}

static int run_bare(struct bench_corpus *c, const struct bench_program *p, struct output *ret,
                    struct cella_err *err)
{
        char directory[128], home[128];
        snprintf(directory, sizeof directory, "%s/work", c->daemon.directory);
        snprintf(home, sizeof home, "%s/home", c->daemon.directory);
        int r = bench_corpus_run_make_directory(p, directory);
        if (r == 0 && mkdir(home, 0700) < 0 && errno != EEXIST)
                r = -errno;
        if (r == 0)
                r = run_process(p, directory, home, c->output, ret);
        bench_remove_tree(directory);
        for (int i = 0; i < 2 && r == 0; i++) {
                ret->len[i] = replace_directory(c->output[i], ret->len[i], directory);
                ret->len[i] = replace_directory(c->output[i], ret->len[i], home);
                ret->text[i] = c->output[i];
        }
        if (r == -ETIMEDOUT)
                return err_say(err, CELLA_INTERNAL, r, "%s does not end when it runs bare", p->name);
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "cannot run %s bare", p->name) : 0;
}

/* ---- through the API ---- */

/* *ret_answer holds the text of *ret.  Returns -errno if there was no result. */
static int run_cella(struct bench_daemon *d, const struct bench_program *p, struct output *ret,
                     json_t **ret_answer, struct cella_err *err)
{
        int64_t begun = clock_us(), code;
        if (d->fd < 0)
                d->fd = bench_connect(d->socket);
        int status = bench_ask(d->fd, p->cella.request, p->cella.request_len, d->answer);
        ret->us = clock_us() - begun;
        if (status < 0) { /* the connection is not usable any more */
                close(d->fd);
                d->fd = -1;
                return err_set(err, CELLA_INTERNAL, status, "no answer");
        }
        if (status != 200)
                return err_say(err, CELLA_INTERNAL, -EBADMSG, "%d %.150s", status, d->answer->body);
        json_t *answer = foreign_json_parse(d->answer->body, d->answer->len, VALUES_MAX, JSON_ALLOW_NUL, err);
        if (!answer)
                return -EBADMSG;
        *ret_answer = answer;
        const json_t *texts[2] = {json_object_get(answer, "stdout"), json_object_get(answer, "stderr")};
        for (int i = 0; i < 2; i++) {
                ret->text[i] = json_string_value(texts[i]);
                ret->len[i] = json_string_length(texts[i]);
        }
        if (!ret->text[0] || !ret->text[1] || !foreign_json_get_integer(answer, "exit_code", &code))
                return err_say(err, CELLA_INTERNAL, -EBADMSG, "a result without output or exit code");
        ret->status = (int)code;
        return 0;
}

/* ---- comparison ---- */

static void copy_line(char *out, size_t size, const char *text, size_t len)
{
        char line[EXCERPT + 1];
        size_t n = 0;
        while (n < EXCERPT && n < len && text[n] != '\n' && text[n] != '\0')
                n++;
        memcpy(line, text, n);
        line[n] = '\0';
        text_safe(out, size, line);
}

/* Describes the first difference; "": both are the same. */
static void bench_corpus_run_compare(const struct output *bare, const struct output *cella, char *ret,
                                     size_t size)
{
        static const char *const names[] = {"stdout", "stderr"};
        for (int i = 0; i < 2; i++) {
                char lines[2][2 * EXCERPT];
                const char *a = bare->text[i], *b = cella->text[i];
                size_t at = 0, start = 0, line = 1;
                while (at < bare->len[i] && at < cella->len[i] && a[at] == b[at])
                        if (a[at++] == '\n') {
                                start = at;
                                line++;
                        }
                if (at == bare->len[i] && at == cella->len[i])
                        continue;
                copy_line(lines[0], sizeof lines[0], a + start, bare->len[i] - start);
                copy_line(lines[1], sizeof lines[1], b + start, cella->len[i] - start);
                snprintf(ret, size, "%s, line %zu: \"%s\", bare \"%s\"", names[i], line, lines[1], lines[0]);
                return;
        }
        ret[0] = '\0';
        if (bare->status != cella->status)
                snprintf(ret, size, "exit status %d, bare %d", cella->status, bare->status);
}

int bench_corpus_turn(struct bench_corpus *c, struct bench_program *p, bool bare_first, bool counts,
                      struct cella_err *err)
{
        AUTO(json_decref) json_t *answer = NULL;
        struct cella_err failure = {0};
        struct output bare = {.text = {"", ""}}, cella = bare;
        char difference[sizeof p->differs] = "";
        int outcome = 0, r = bare_first ? run_bare(c, p, &bare, err) : 0;
        if (r == 0) {
                outcome = run_cella(&c->daemon, p, &cella, &answer, &failure);
                usleep(PAUSE_US);
                if (bench_interrupted)
                        return -EINTR;
                if (c->daemon.fd < 0)
                        c->daemon.fd = bench_connect(c->daemon.socket);
                r = bench_daemon_settle(&c->daemon, err);
        }
        if (r == 0 && !bare_first)
                r = run_bare(c, p, &bare, err);
        if (r != 0)
                return r;
        if (outcome < 0)
                snprintf(difference, sizeof difference, "%s", failure.msg);
        else
                bench_corpus_run_compare(&bare, &cella, difference, sizeof difference);
        if (difference[0]) {
                if (!p->differs[0])
                        snprintf(p->differs, sizeof p->differs, "%s", difference);
                p->cella.failures++;
        } else if (counts) {
                p->bare.times[p->bare.n++] = (uint32_t)bare.us;
                p->cella.times[p->cella.n++] = (uint32_t)cella.us;
        }
        return 0;
}
