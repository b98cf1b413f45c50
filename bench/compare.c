/* bench/compare.c -- Cella beside bare execution and other sandboxes, in one run.
 *
 * Every variant of a round runs once before any runs again, so that what else the
 * machine does hits all alike; compare the columns of one run, never two runs. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#define ROUNDS_MAX 2000
#define WORDS_MAX 96
#define TURNS 7 /* prime, and not less than N_PEERS: a step of any length visits all */

static const struct {
        const char *name;
        const char *command[4]; /* NULL-terminated */
        int rounds;             /* for each asked for, in hundredths */
} loads[] = {
        {"sh -c 'echo hi'", {"sh", "-c", "echo hi", NULL}, 100},
        {"python3 -c 'print(1)'", {"/usr/bin/python3", "-c", "print(1)", NULL}, 40},
        {"node -e 'console.log(1)'", {"node", "-e", "console.log(1)", NULL}, 10},
};

/* What stands before the command.  bwrap twice: with the least that runs a shell, and with a
 * view like ours, which is what to compare with (it still has no cgroups, no filter, no
 * Landlock). */
#define BWRAP_LEAST                                                                                          \
        "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin",  \
                "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc",        \
                "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/workspace"
static const char *const bwrap_least[] = {BWRAP_LEAST, "--", NULL};
static const char *const bwrap[] = {
        BWRAP_LEAST,
        "--new-session",
        "--uid",
        "1000",
        "--gid",
        "1000",
        "--hostname",
        "sandbox",
        "--chdir",
        "/workspace",
        "--symlink",
        "usr/sbin",
        "/sbin",
        "--ro-bind",
        "/etc/alternatives",
        "/etc/alternatives",
        "--ro-bind",
        "/etc/ld.so.cache",
        "/etc/ld.so.cache",
        "--ro-bind",
        "/etc/ssl/certs",
        "/etc/ssl/certs",
        "--tmpfs",
        "/run",
        "--ro-bind",
        "/dev/null",
        "/proc/keys",
        "--ro-bind",
        "/dev/null",
        "/proc/timer_list",
        "--ro-bind",
        "/dev/null",
        "/proc/interrupts",
        "--ro-bind",
        "/dev/null",
        "/proc/kallsyms",
        "--ro-bind",
        "/dev/null",
        "/proc/cmdline",
        "--",
        NULL,
};

enum peer { BARE, CELLA, BWRAP, BWRAP_SMALL, CRUN, RUNC, N_PEERS };
static const char *const peer_names[] = {"bare", "cella run", "bwrap, comparable view", "bwrap, least view",
                                         "crun", "runc"};

static char cella_path[600], bundle[] = "/tmp/cella-bench-XXXXXX";
static const char *why_not[N_PEERS]; /* a reason, or NULL */
static double times[N_PEERS][ROUNDS_MAX];

static int compare(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;
        return (x > y) - (x < y);
}

static void write_text(const char *path, const char *text)
{
        FILE *f = fopen(path, "w");
        if (f) {
                fputs(text, f);
                fclose(f);
        }
}

/* An OCI bundle with the same view, for the runtimes that want one. */
static void write_bundle(const char *const *command)
{
        char path[128], text[4096], args[512] = "";
        for (; *command; command++) {
                size_t used = strlen(args);
                snprintf(args + used, sizeof args - used, "%s\"%s\"", used ? "," : "", *command);
        }
        snprintf(text, sizeof text,
                 "{\"ociVersion\":\"1.0.0\",\"process\":{\"user\":{\"uid\":1000,\"gid\":1000},\"args\":[%s],"
                 "\"env\":[\"PATH=/usr/bin:/bin\"],\"cwd\":\"/workspace\",\"noNewPrivileges\":true},"
                 "\"root\":{\"path\":\"rootfs\"},\"mounts\":["
                 "{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"},"
                 "{\"destination\":\"/"
                 "dev\",\"type\":\"tmpfs\",\"source\":\"tmpfs\",\"options\":[\"mode=755\"]},"
                 "{\"destination\":\"/usr\",\"type\":\"bind\",\"source\":\"/"
                 "usr\",\"options\":[\"rbind\",\"ro\"]},"
                 "{\"destination\":\"/etc/alternatives\",\"type\":\"bind\",\"source\":\"/etc/alternatives\","
                 "\"options\":[\"rbind\",\"ro\"]},"
                 "{\"destination\":\"/workspace\",\"type\":\"tmpfs\",\"source\":\"tmpfs\"},"
                 "{\"destination\":\"/tmp\",\"type\":\"tmpfs\",\"source\":\"tmpfs\"}],"
                 "\"linux\":{\"resources\":{\"memory\":{\"limit\":536870912},\"pids\":{\"limit\":64}},"
                 "\"namespaces\":["
                 "{\"type\":\"pid\"},{\"type\":\"network\"},{\"type\":\"ipc\"},{\"type\":\"uts\"},{\"type\":"
                 "\"mount\"}]}}",
                 args);
        snprintf(path, sizeof path, "%s/config.json", bundle);
        write_text(path, text);
}

static void make_rootfs(void)
{
        static const char *const dirs[] = {"",     "/proc",      "/dev", "/usr",
                                           "/tmp", "/workspace", "/etc", "/etc/alternatives"};
        static const char *const links[] = {"bin", "lib", "lib64"};
        char path[160], target[32];
        for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
                snprintf(path, sizeof path, "%s/rootfs%s", bundle, dirs[i]);
                mkdir(path, 0755);
        }
        for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
                snprintf(path, sizeof path, "%s/rootfs/%s", bundle, links[i]);
                snprintf(target, sizeof target, "usr/%s", links[i]);
                if (symlink(target, path) < 0 && errno != EEXIST)
                        perror(path);
        }
}

static void build_argv(enum peer peer, const char *const *command, const char **argv)
{
        static char id[32];
        static unsigned serial;
        size_t n = 0;
        switch (peer) {
        case CELLA:
                argv[n++] = cella_path;
                argv[n++] = "run";
                argv[n++] = "--";
                break;
        case BWRAP:
        case BWRAP_SMALL:
                for (const char *const *from = peer == BWRAP ? bwrap : bwrap_least; *from; from++)
                        argv[n++] = *from;
                break;
        case CRUN:
        case RUNC:
                snprintf(id, sizeof id, "cella-bench-%d-%u", (int)getpid(), serial++);
                argv[n++] = peer_names[peer];
                argv[n++] = "run";
                argv[n++] = "-b";
                argv[n++] = bundle;
                argv[n++] = id;
                argv[n] = NULL;
                return;
        default:
                break;
        }
        while (*command)
                argv[n++] = *command++;
        argv[n] = NULL;
}

/* Microseconds from before the start to after the end, or -1. */
static double once(enum peer peer, const char *const *command)
{
        /* The same for all: what a caller's environment makes an interpreter do is not ours. */
        static char *const environment[] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=C.UTF-8",
                                            NULL};
        const char *argv[WORDS_MAX];
        posix_spawn_file_actions_t actions;
        pid_t pid;
        int status = -1;
        build_argv(peer, command, argv);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
        int64_t start = clock_us();
        int r = posix_spawnp(&pid, argv[0] ? argv[0] : "", &actions, NULL, (char *const *)argv, environment);
        if (r == 0)
                waitpid(pid, &status, 0);
        double t = (double)(clock_us() - start);
        posix_spawn_file_actions_destroy(&actions);
        return r == 0 && status == 0 ? t : -1;
}

/* How many rounds it were. */
static int measure(size_t load, int asked)
{
        int rounds = asked * loads[load].rounds / 100;
        rounds = rounds < 5 ? 5 : rounds;
        write_bundle(loads[load].command);
        for (enum peer p = 0; p < N_PEERS; p++)
                why_not[p] = once(p, loads[load].command) < 0 ? "does not run here" : NULL;
        for (int r = 0; r < rounds; r++)
                for (int i = 0; i < TURNS; i++) {
                        /* In another order each time: the kernel still cleans up after the one
                         * before, at the cost of the next. */
                        enum peer p = (enum peer)((i * (1 + r % (TURNS - 1)) + r) % TURNS);
                        if (p >= N_PEERS || why_not[p])
                                continue;
                        times[p][r] = once(p, loads[load].command);
                        if (times[p][r] < 0)
                                why_not[p] = "failed in between";
                }
        for (enum peer p = 0; p < N_PEERS; p++)
                if (!why_not[p])
                        qsort(times[p], (size_t)rounds, sizeof times[p][0], compare);
        return rounds;
}

static void print_table(size_t load, int rounds)
{
        printf("\n%-26s %12s %12s %10s %12s\n", loads[load].name, "median ms", "p99 ms", "x bare",
               "bare + ms");
        for (enum peer p = 0; p < N_PEERS; p++) {
                if (why_not[p]) {
                        printf("  %-24s %s\n", peer_names[p], why_not[p]);
                        continue;
                }
                double median = times[p][rounds / 2], bare = times[BARE][rounds / 2];
                printf("  %-24s %12.2f %12.2f %10.2f %12.2f\n", peer_names[p], median / 1000,
                       times[p][rounds * 99 / 100] / 1000, median / bare, (median - bare) / 1000);
        }
}

/* One object for each; names and reasons have nothing in them to escape. */
static void print_json(size_t load, int rounds)
{
        printf("%s{\"load\": \"%s\", \"rounds\": %d, \"peers\": [", load ? ", " : "", loads[load].name,
               rounds);
        for (enum peer p = 0; p < N_PEERS; p++) {
                printf("%s{\"name\": \"%s\", ", p ? ", " : "", peer_names[p]);
                if (why_not[p])
                        printf("\"skipped\": \"%s\"}", why_not[p]);
                else
                        printf("\"skipped\": null, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"min_ms\": %.3f, "
                               "\"x_bare\": %.4f}",
                               times[p][rounds / 2] / 1000, times[p][rounds * 99 / 100] / 1000,
                               times[p][0] / 1000, times[p][rounds / 2] / times[BARE][rounds / 2]);
        }
        printf("]}");
}

int main(int argc, char **argv)
{
        bool json = argc > 1 && !strcmp(argv[1], "--json");
        int rounds = argc > 1 + json ? atoi(argv[1 + json]) : 500;
        char command[64];
        if (rounds < 5 || rounds > ROUNDS_MAX) {
                fprintf(stderr, "usage: compare [--json] [ROUNDS, 5 to %d]\n", ROUNDS_MAX);
                return 2;
        }
        ssize_t n = readlink("/proc/self/exe", cella_path, sizeof cella_path - 32);
        if (n < 0 || !mkdtemp(bundle))
                return 1;
        cella_path[n] = '\0';
        char *slash = strrchr(cella_path, '/');
        snprintf(slash, sizeof cella_path - (size_t)(slash - cella_path), "/../src/cella");
        make_rootfs();
        printf(json ? "[" : "");
        for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
                (json ? print_json : print_table)(i, measure(i, rounds));
        printf(json ? "]\n" : "");
        snprintf(command, sizeof command, "rm -rf %s", bundle);
        return system(command) != 0;
}
