/* cli/bench/bench_daemon.c -- daemons that the benchmark starts. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/foreign_json.h"
#include "cli/bench/bench.h"
#include "cli/program.h"

#define START_US INT64_C(10000000)
#define STOP_US INT64_C(120000000)
#define STUCK_US INT64_C(20000000) /* maximum time without a new sandbox */
#define LOOK_US 2000
#define VALUES_MAX 10000
#define TMPDIR_MAX 80 /* the path of a socket has at most 107 bytes */

/* ---- start and stop ---- */

static int bench_daemon_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
        (void)st;
        (void)type;
        (void)ftw;
        return remove(path);
}

void bench_remove_tree(const char *path)
{
        nftw(path, bench_daemon_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void wait_for_end(pid_t pid)
{
        kill(pid, SIGTERM);
        for (int64_t begun = clock_us(); clock_us() - begun < STOP_US; usleep(LOOK_US))
                if (waitpid(pid, NULL, WNOHANG) != 0)
                        return;
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                continue;
}

void bench_daemon_stop(struct bench_daemon *d)
{
        if (d->fd >= 0)
                close(d->fd);
        if (d->pid > 0)
                wait_for_end(d->pid);
        if (d->directory[0])
                bench_remove_tree(d->directory);
        free(d->answer);
        *d = (struct bench_daemon)BENCH_DAEMON_NONE;
}

/* Runs the daemon in its own process group, because a key that interrupts is meant for this process.  The
 * daemon ends with this process. */
static void become_daemon(const struct bench_daemon *d, const char *program, pid_t parent)
{
        char state[128];
        int null = open("/dev/null", O_RDWR);
        snprintf(state, sizeof state, "%s/state", d->directory);
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
                _exit(127);
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execl(program, "cella", "serve", "--listen", "none", "--state", state, "--socket", d->socket,
              (char *)NULL);
        _exit(127);
}

static int bench_daemon_make_directory(struct bench_daemon *d, struct cella_err *err)
{
        const char *parent = getenv("TMPDIR");
        if (!parent || parent[0] != '/' || strlen(parent) > TMPDIR_MAX)
                parent = "/tmp";
        snprintf(d->directory, sizeof d->directory, "%s/cella-bench-XXXXXX", parent);
        if (!mkdtemp(d->directory)) {
                int r = -errno;
                d->directory[0] = '\0';
                return err_set(err, CELLA_INTERNAL, r, "cannot create a directory in %s", parent);
        }
        chmod(d->directory, 0755); /* the server runs as another user */
        snprintf(d->socket, sizeof d->socket, "%s/socket", d->directory);
        return 0;
}

int bench_daemon_start(struct bench_daemon *d, const char *settings, struct cella_err *err)
{
        pid_t parent = getpid();
        d->answer = malloc(sizeof *d->answer);
        if (!d->answer)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "bench");
        char program[PROGRAM_SIZE];
        int r = program_find_cella(program, err);
        if (r < 0 || (r = bench_daemon_make_directory(d, err)) < 0)
                return r;
        d->pid = fork();
        if (d->pid == 0)
                become_daemon(d, program, parent);
        for (int64_t begun = clock_us(); clock_us() - begun < START_US && !bench_interrupted;
             usleep(LOOK_US)) {
                if ((d->fd = bench_connect(d->socket)) >= 0)
                        return bench_daemon_change(d, settings, err);
                if (d->pid < 0 || waitpid(d->pid, NULL, WNOHANG) != 0)
                        break;
        }
        return err_say(err, CELLA_ENGINE_UNAVAILABLE, -EIO,
                       "cannot start a daemon to measure: try cella serve");
}

/* ---- requests ---- */

static int bench_daemon_call(struct bench_daemon *d, const char *method, const char *path, const char *body,
                             int expected, struct cella_err *err)
{
        char *request = bench_request(method, path, body);
        int status = request ? bench_ask(d->fd, request, strlen(request), d->answer) : -ENOMEM;
        free(request);
        if (status < 0)
                return err_set(err, CELLA_INTERNAL, status, "%s %s of the benchmark's daemon", method, path);
        if (status != expected)
                return err_say(err, CELLA_INTERNAL, -EIO, "%s %s: %d %.150s", method, path, status,
                               d->answer->body);
        return 0;
}

int bench_daemon_change(struct bench_daemon *d, const char *settings, struct cella_err *err)
{
        return bench_daemon_call(d, "PATCH", "/v1/settings", settings, 200, err);
}

int bench_daemon_sandbox(struct bench_daemon *d, char *ret, size_t size, struct cella_err *err)
{
        int r = bench_daemon_call(d, "POST", "/v1/sandboxes", "{}", 201, err);
        const char *id = r < 0 ? NULL : strstr(d->answer->body, "sbx_");
        if (id)
                snprintf(ret, size, "%.*s", (int)strcspn(id, "\""), id);
        return r < 0 || id ? r : err_say(err, CELLA_INTERNAL, -EBADMSG, "a sandbox without an id");
}

/* ---- its pools ---- */

static uint64_t bench_daemon_number(json_t *o, const char *name)
{
        int64_t value = 0;
        return foreign_json_get_integer(o, name, &value) && value > 0 ? (uint64_t)value : 0;
}

static void bench_daemon_copy(char *to, size_t size, json_t *o, const char *name)
{
        const char *text = foreign_json_get_text(o, name);
        snprintf(to, size, "%s", text ? text : "");
}

static void read_pool(json_t *o, struct bench_pool *ret)
{
        *ret = (struct bench_pool){.size = bench_daemon_number(o, "size"),
                                   .available = bench_daemon_number(o, "available"),
                                   .making = bench_daemon_number(o, "making"),
                                   .in_use = bench_daemon_number(o, "in_use"),
                                   .hits = bench_daemon_number(o, "hits"),
                                   .misses = bench_daemon_number(o, "misses")};
        ret->refill_ms = json_number_value(json_object_get(o, "refill_ms"));
        bench_daemon_copy(ret->runtime, sizeof ret->runtime, o, "runtime");
        bench_daemon_copy(ret->waits, sizeof ret->waits, o, "waits");
        bench_daemon_copy(ret->problem, sizeof ret->problem, o, "problem");
}

int bench_daemon_pools(struct bench_daemon *d, struct cella_err *err)
{
        int r = bench_daemon_call(d, "GET", "/v1/pools", NULL, 200, err);
        if (r < 0)
                return r;
        AUTO(json_decref)
        json_t *answer = foreign_json_parse(d->answer->body, d->answer->len, VALUES_MAX, 0, err);
        if (!answer)
                return -EBADMSG;
        const json_t *list = json_object_get(answer, "pools");
        for (d->n_pools = 0; d->n_pools < json_array_size(list) && d->n_pools < BENCH_POOLS_MAX; d->n_pools++)
                read_pool(json_array_get(list, d->n_pools), &d->pools[d->n_pools]);
        return 0;
}

const struct bench_pool *bench_daemon_pool(const struct bench_daemon *d, const char *runtime)
{
        for (size_t i = 0; i < d->n_pools; i++)
                if (!strcmp(d->pools[i].runtime, runtime))
                        return &d->pools[i];
        return NULL;
}

/* A pool that is filled after the first execution that needs it. */
static bool bench_daemon_sleeps(const struct bench_pool *p)
{
        return p->available == 0 && !strcmp(p->waits, "for an execution");
}

static bool is_settled(const struct bench_daemon *d, uint64_t *ret_available)
{
        bool settled = true;
        *ret_available = 0;
        for (size_t i = 0; i < d->n_pools; i++) {
                const struct bench_pool *p = &d->pools[i];
                *ret_available += p->available;
                if ((p->available < p->size && !bench_daemon_sleeps(p)) || p->making > 0 || p->in_use > 0 ||
                    !strncmp(p->waits, "making", 6))
                        settled = false;
        }
        return settled;
}

static int is_stuck(const struct bench_daemon *d, struct cella_err *err)
{
        for (size_t i = 0; i < d->n_pools; i++)
                if (d->pools[i].available < d->pools[i].size)
                        return err_say(err, CELLA_INTERNAL, -ETIME,
                                       "the pool of %s does not fill: %llu of %llu%s%s", d->pools[i].runtime,
                                       (unsigned long long)d->pools[i].available,
                                       (unsigned long long)d->pools[i].size,
                                       d->pools[i].problem[0] ? ": " : "", d->pools[i].problem);
        return err_say(err, CELLA_INTERNAL, -ETIME, "the benchmark's daemon does not become idle");
}

int bench_daemon_settle(struct bench_daemon *d, struct cella_err *err)
{
        uint64_t available, best = 0;
        unsigned looks = 0;
        for (int64_t moved = clock_us();; usleep(looks++ < 50 ? LOOK_US : 10 * LOOK_US)) {
                int r = bench_daemon_pools(d, err);
                if (r < 0 || is_settled(d, &available))
                        return r;
                if (bench_interrupted)
                        return -EINTR;
                if (available > best) {
                        best = available;
                        moved = clock_us();
                }
                if (clock_us() - moved > STUCK_US)
                        return is_stuck(d, err);
        }
}
