/* cli/bench.c -- `cella bench`: what a sandbox costs here, beside no sandbox, in one run.
 *
 * Every way runs once before any runs again, so that what else the machine does hits all alike.
 * The daemon is one of its own, in a directory of its own, so that nobody else's work is measured
 * (nor put into anybody's log). */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "cli/cli.h"

#define ROUNDS_MAX 10000
#define ANSWER_MAX 65536
#define CODE "echo hi"
#define EXEC_BODY "{\"runtime\": \"sh\", \"code\": \"" CODE "\"}"

struct options {
        uint64_t rounds;
};

static const struct cli_option options[] = {
        {"rounds", "N", "how often each way is taken (300)", CLI_INTO(CLI_COUNT, struct options, rounds)},
};

struct daemon {
        char directory[64], socket[80], sandbox[40];
        pid_t pid;
        int fd; /* a connection that is kept */
};

enum way { BARE, ENGINE_FRESH, ENGINE_READY, API_FRESH, API_READY, N_WAYS };
static const char *const names[] = {
        [BARE] = "sh, no sandbox",
        [ENGINE_FRESH] = "sandbox made, sh, sandbox ended (library)",
        [ENGINE_READY] = "sh in a ready sandbox (library)",
        [API_FRESH] = "the same as the first, through the daemon",
        [API_READY] = "the same as the second, through the daemon",
};

struct bench {
        struct daemon daemon;
        struct cella_sandbox *ready;
        uint64_t rounds;
        uint32_t *times[N_WAYS]; /* microseconds */
};

/* ---- a connection ---- */

static int open_connection(const char *path)
{
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
                return fd;
        int r = -errno;
        close(fd);
        return r;
}

/* One request on a connection that stays; the answer's body in `answer`.  The HTTP status or -errno. */
static int ask(int fd, const char *path, const char *body, char answer[ANSWER_MAX])
{
        char request[512];
        int n = snprintf(
                request, sizeof request,
                "POST %s HTTP/1.1\r\nHost: cella\r\nContent-Type: application/json\r\nContent-Length: "
                "%zu\r\n\r\n%s",
                path, strlen(body), body);
        if (write(fd, request, (size_t)n) != n)
                return -EIO;
        for (size_t got = 0; got < ANSWER_MAX - 1;) {
                ssize_t more = read(fd, answer + got, ANSWER_MAX - 1 - got);
                if (more <= 0)
                        return -EIO;
                got += (size_t)more;
                answer[got] = '\0';
                const char *end = strstr(answer, "\r\n\r\n"), *length = strcasestr(answer, "content-length:");
                if (!end || !length || length > end)
                        continue;
                size_t head = (size_t)(end + 4 - answer), len = strtoul(length + 15, NULL, 10);
                if (got < head + len)
                        continue;
                int status = atoi(answer + strcspn(answer, " "));
                memmove(answer, answer + head, len + 1);
                return status;
        }
        return -EFBIG;
}

/* ---- the daemon ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void)st;
        (void)type;
        (void)ftw;
        return remove(path);
}

static void daemon_stop(struct daemon *d)
{
        if (d->fd >= 0)
                close(d->fd);
        if (d->pid > 0) {
                kill(d->pid, SIGTERM);
                waitpid(d->pid, NULL, 0);
        }
        if (d->directory[0])
                nftw(d->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void become_daemon(const struct daemon *d, const char *state)
{
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDERR_FILENO);
        execl("/proc/self/exe", "cella", "serve", "--listen", "none", "--state", state, "--socket", d->socket,
              (char *)NULL);
        _exit(127);
}

static int daemon_start(struct daemon *d, struct cella_err *err)
{
        char state[80], *answer = malloc(ANSWER_MAX);
        strcpy(d->directory, "/tmp/cella-bench-XXXXXX");
        if (!answer || !mkdtemp(d->directory)) {
                d->directory[0] = '\0';
                free(answer);
                return err_set(err, CELLA_INTERNAL, -errno, "cannot make a directory in /tmp");
        }
        chmod(d->directory, 0755); /* the server is another user */
        snprintf(state, sizeof state, "%s/state", d->directory);
        snprintf(d->socket, sizeof d->socket, "%s/socket", d->directory);
        d->pid = fork();
        if (d->pid == 0)
                become_daemon(d, state);
        for (int i = 0;
             i < 1000 && (d->fd = open_connection(d->socket)) < 0 && waitpid(d->pid, NULL, WNOHANG) == 0; i++)
                usleep(5000);
        int status = d->fd < 0 ? d->fd : ask(d->fd, "/v1/sandboxes", "{}", answer);
        const char *id = status == 201 ? strstr(answer, "sbx_") : NULL;
        if (id)
                snprintf(d->sandbox, sizeof d->sandbox, "%.*s", (int)strcspn(id, "\""), id);
        free(answer);
        return id ? 0
                  : err_say(err, CELLA_ENGINE_UNAVAILABLE, -EIO,
                            "cannot start a daemon to measure: try cella serve");
}

/* ---- the ways ---- */

static int run_bare(void)
{
        static char *const argv[] = {"sh", "-c", CODE, NULL}, *const env[] = {"PATH=/usr/bin:/bin", NULL};
        posix_spawn_file_actions_t actions;
        int out[2], status;
        char text[8];
        pid_t pid = -1;
        if (pipe2(out, O_CLOEXEC) < 0)
                return -errno;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
        int r = posix_spawn(&pid, "/bin/sh", &actions, NULL, argv, env);
        posix_spawn_file_actions_destroy(&actions);
        close(out[1]);
        while (read(out[0], text, sizeof text) > 0)
                continue;
        close(out[0]);
        if (r != 0)
                return -r;
        return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -EIO;
}

static int run_engine(struct bench *b, bool fresh, struct cella_err *err)
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
        if (r == 0 && (r = cella_run(sandbox, &command, &result, err)) == 0)
                cella_result_done(&result);
        if (fresh)
                cella_sandbox_free(sandbox);
        return r;
}

static int run_api(int fd, const char *sandbox)
{
        static _Thread_local char answer[ANSWER_MAX];
        char path[80] = "/v1/exec";
        if (sandbox)
                snprintf(path, sizeof path, "/v1/sandboxes/%s/exec", sandbox);
        return ask(fd, path, EXEC_BODY, answer) == 200 && strstr(answer, "\"hi\\n\"") ? 0 : -EIO;
}

static int run(struct bench *b, enum way way, struct cella_err *err)
{
        int r = way == BARE           ? run_bare()
                : way == ENGINE_FRESH ? run_engine(b, true, err)
                : way == ENGINE_READY ? run_engine(b, false, err)
                                      : run_api(b->daemon.fd, way == API_READY ? b->daemon.sandbox : NULL);
        if (r < 0 && !err->kind)
                err_set(err, CELLA_INTERNAL, r, "%s", names[way]);
        return r;
}

static int by_size(const void *a, const void *b)
{
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
        return x < y ? -1 : x > y;
}

static int measure_latency(struct bench *b, struct cella_err *err)
{
        for (uint64_t i = 0; i < b->rounds; i++)
                for (int way = 0; way < N_WAYS; way++) {
                        int64_t begun = clock_us();
                        int r = run(b, (enum way)way, err);
                        if (r < 0)
                                return r;
                        b->times[way][i] = (uint32_t)(clock_us() - begun);
                }
        for (int way = 0; way < N_WAYS; way++)
                qsort(b->times[way], b->rounds, sizeof **b->times, by_size);
        return 0;
}

/* In milliseconds: below which so many thousandths of the times lie. */
static double quantile(const struct bench *b, enum way way, uint64_t thousandths)
{
        const uint32_t *times = b->times[way];
        uint64_t i = b->rounds * thousandths / 1000;
        return times ? times[i] / 1e3 : 0;
}

static void print_latency(const struct bench *b)
{
        printf("%-44s %8s %8s %8s %9s\n", "latency of sh -c '" CODE "', ms", "p50", "p90", "p99", "x bare");
        for (int w = 0; w < N_WAYS; w++) {
                enum way way = (enum way)w;
                printf("%-44s %8.2f %8.2f %8.2f %9.1f\n", names[way], quantile(b, way, 500),
                       quantile(b, way, 900), quantile(b, way, 990),
                       quantile(b, way, 500) / quantile(b, BARE, 500));
        }
        printf("the daemon adds %.2f ms (median) in a ready sandbox, %.2f ms with a fresh one\n",
               quantile(b, API_READY, 500) - quantile(b, ENGINE_READY, 500),
               quantile(b, API_FRESH, 500) - quantile(b, ENGINE_FRESH, 500));
}

/* ---- throughput ---- */

struct crowd {
        struct bench *bench;
        bool bare;
        atomic_uint done;
        atomic_bool stop, failed;
};

static void *work(void *context)
{
        struct crowd *c = context;
        int fd = c->bare ? -1 : open_connection(c->bench->daemon.socket);
        while (!c->stop && !c->failed) {
                if ((c->bare ? run_bare() : run_api(fd, NULL)) < 0)
                        c->failed = true;
                else
                        c->done++;
        }
        if (fd >= 0)
                close(fd);
        return NULL;
}

static double throughput(struct bench *b, bool bare, unsigned workers)
{
        struct crowd c = {.bench = b, .bare = bare};
        pthread_t threads[16];
        unsigned n = 0;
        int64_t begun = clock_us();
        while (n < workers && pthread_create(&threads[n], NULL, work, &c) == 0)
                n++;
        usleep(1000000);
        c.stop = true;
        double seconds = (double)(clock_us() - begun) / 1e6, done = c.done;
        while (n > 0)
                pthread_join(threads[--n], NULL);
        return c.failed ? -1 : done / seconds;
}

static void measure_throughput(struct bench *b)
{
        double sum[2] = {0};
        for (int i = 0; i < 3; i++) /* in turn, for the same reason */
                for (int bare = 0; bare < 2; bare++)
                        sum[bare] += throughput(b, bare, 8);
        printf("executions a second, 8 at a time: %.0f in sandboxes of their own through the daemon, %.0f "
               "bare\n",
               sum[0] / 3, sum[1] / 3);
}

static int bench(struct bench *b, struct cella_err *err)
{
        struct cella_options o;
        cella_options_default(&o);
        int r = cella_sandbox_new(&o, &b->ready, err);
        if (r == 0)
                r = daemon_start(&b->daemon, err);
        for (int way = 0; way < N_WAYS && r == 0; way++)
                if (!(b->times[way] = calloc(b->rounds, sizeof **b->times)))
                        r = err_set(err, CELLA_INTERNAL, -ENOMEM, "bench");
        for (int way = 0; way < N_WAYS && r == 0; way++)
                r = run(b, (enum way)way, err); /* the first of each has to warm up */
        if (r == 0)
                r = measure_latency(b, err);
        if (r < 0)
                return r;
        print_latency(b);
        fflush(stdout);
        measure_throughput(b);
        return 0;
}

static int bench_main(const struct cli_command *self, int argc, char **argv)
{
        struct cella_err err = {0};
        struct options o = {.rounds = 300};
        struct bench b = {.daemon.fd = -1};
        int r = cli_parse(self, argc, argv, &o, NULL, &err);
        if (r >= 0 && r < argc)
                r = err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "cella bench takes no '%.40s'", argv[r]);
        if (r >= 0 && o.rounds > ROUNDS_MAX)
                r = err_say(&err, CELLA_INVALID_REQUEST, -ERANGE, "--rounds must be at most %d", ROUNDS_MAX);
        if (r < 0)
                return cli_finish(r, &err, false);
        b.rounds = o.rounds;
        r = bench(&b, &err);
        daemon_stop(&b.daemon);
        cella_sandbox_free(b.ready);
        for (int way = 0; way < N_WAYS; way++)
                free(b.times[way]);
        return r < 0 ? cli_fail(&err, EXIT_CELLA) : 0;
}

const struct cli_command cli_bench = {
        .name = "bench",
        .usage = "[--rounds N]",
        .summary = "latency and throughput beside bare execution, in one run",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = bench_main,
};
