/* cli/doctor.c -- `cella doctor`: what this host can enforce, shown by doing it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/cli.h"
#include "config.h"
#include "jail/cgroup.h"
#include "jail/landlock.h"

#define ATTACKS_INSIDE "/attacks"
#define LINE_MAX_BYTES 512

struct doctor_options {
        bool attack;
};

static int set_attack(void *target, const char *value, struct cella_err *err)
{
        (void)value, (void)err;
        ((struct doctor_options *)target)->attack = true;
        return 0;
}

static const struct cli_option options[] = {
        {"attack", NULL, "try to break out, in every way we know; each must fail", set_attack},
};

static const struct {
        const char *name, *what;
} layers[] = {
        {"user", "unprivileged uid in a user namespace, no capabilities"},
        {"pid", "its own processes only"},
        {"mount", "a read-only view, private /tmp and /workspace"},
        {"net", "its own loopback, nothing else"},
        {"ipc", "its own shared memory and queues"},
        {"uts", "its own host name"},
        {"cgroup", "limits on memory, processes, CPU"},
        {"seccomp", "an allowlist of system calls"},
        {"landlock", "the file rules once more"},
};

static bool has(const char *const *words, size_t n, const char *word)
{
        for (size_t i = 0; i < n; i++)
                if (!strcmp(words[i], word))
                        return true;
        return false;
}

static void print_host(void)
{
        struct utsname u;
        if (uname(&u) == 0)
                printf("kernel     %s %s\n", u.release, u.machine);
        printf("run as     %s\n", geteuid() == 0 ? "root" : "ordinary user");
        printf("cgroups    %s\n", cgroup_is_v2() ? "v2" : "v1 or hybrid");
        printf("landlock   version %d\n\n", landlock_abi());
}

static void print_layers(const struct cella_isolation *isolation)
{
        for (size_t i = 0; i < ARRAY_LEN(layers); i++)
                printf("%-10s %-8s %s\n", layers[i].name,
                       has(isolation->layers, isolation->n_layers, layers[i].name) ? "ok" : "MISSING",
                       layers[i].what);
        for (size_t i = 0; i < isolation->n_missing; i++)
                if (!strncmp(isolation->missing[i], "limit:", 6))
                        printf("%-10s %-8s cannot be enforced for this user without a delegated cgroup\n",
                               isolation->missing[i] + 6, "MISSING");
}

/* Runs one command in a sandbox of its own.  The caller frees *result. */
static int run_one(const struct cella_options *o, const char *const *argv, struct cella_isolation *isolation,
                   struct cella_result *result, struct cella_err *err)
{
        struct cella_sandbox *sandbox = NULL;
        const struct cella_command command = {
                .argv = argv,
                .cwd = "/",
                .stdin_fd = -1,
                .cancel_fd = -1,
                .final = true,
        };
        int r = cella_sandbox_new(o, &sandbox, err);
        if (r == 0)
                r = cella_run(sandbox, &command, result, err);
        if (r == 0 && isolation)
                cella_sandbox_isolation(sandbox, isolation);
        cella_sandbox_free(sandbox);
        return r;
}

/* Beside the program when it was built, in libexec once it is installed. */
static int find_attacks(char *path, size_t size, struct cella_err *err)
{
        char self[512];
        ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
        self[n > 0 ? n : 0] = '\0';
        char *slash = strrchr(self, '/');
        if (slash)
                *slash = '\0';
        static const char *const places[] = {"../test/cella-attacks", "../libexec/cella/cella-attacks"};
        for (size_t i = 0; i < ARRAY_LEN(places); i++) {
                snprintf(path, size, "%s/%s", self, places[i]);
                if (access(path, X_OK) == 0)
                        return 0;
        }
        snprintf(path, size, "%s/cella/cella-attacks", CELLA_LIBEXECDIR);
        if (access(path, X_OK) == 0)
                return 0;
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "the attack programs are not installed");
        return err_hint(err, "./dev install puts them in place");
}

/* One line of `cella-attacks --list`: name, wall, what, each after a tab.  Counts failures. */
static int attack(const struct cella_options *o, char *line, int *failures, struct cella_err *err)
{
        char *wall = strchr(line, '\t');
        if (!wall)
                return 0;
        *wall++ = '\0';
        const char *const argv[] = {ATTACKS_INSIDE, line, NULL};
        struct cella_result result;
        int r = run_one(o, argv, NULL, &result, err);
        if (r < 0)
                return r;
        /* 0: it succeeded, 1: it was stopped, else it could not be tried. */
        const char *verdict = result.exit_code == 0   ? "SUCCEEDED"
                              : result.exit_code == 1 ? "blocked"
                                                      : "not tried";
        bool killed = result.signal == 31; /* SIGSYS: the filter's answer to foreign system calls */
        if (result.exit_code == 0)
                ++*failures;
        printf("%-10s %-24s %s\n", killed ? "blocked" : verdict, line,
               strchr(wall, '\t') ? strchr(wall, '\t') + 1 : "");
        cella_result_done(&result);
        return 0;
}

static int attack_all(struct cella_err *err)
{
        char path[640];
        int r = find_attacks(path, sizeof path, err);
        if (r < 0)
                return r;
        const struct cella_mount mount = {.source = path, .target = ATTACKS_INSIDE};
        const char *const list[] = {ATTACKS_INSIDE, "--list", NULL};
        struct cella_options o;
        struct cella_result result;
        int failures = 0;
        cella_options_default(&o);
        o.limits.timeout_ms = 10000;
        o.mounts = &mount;
        o.n_mounts = 1;
        r = run_one(&o, list, NULL, &result, err);
        if (r < 0)
                return r;
        char *all = strndup(result.output[CELLA_STDOUT], result.output_len[CELLA_STDOUT]), *rest = all, *line;
        cella_result_done(&result);
        putchar('\n');
        while (r == 0 && rest && (line = strsep(&rest, "\n")))
                if (*line)
                        r = attack(&o, line, &failures, err);
        free(all);
        return r < 0 ? r : failures;
}

static int doctor_main(const struct cli_command *self, int argc, char **argv)
{
        struct cella_err err = {0};
        struct doctor_options doctor = {0};
        struct cella_isolation isolation;
        struct cella_options o;
        struct cella_result result;
        const char *const nothing[] = {"/usr/bin/true", NULL};
        int r = cli_parse(self, argc, argv, &doctor, NULL, &err);
        if (r == CLI_HELP)
                return 0;
        if (r >= 0 && r < argc)
                r = err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "cella doctor takes no '%.40s'", argv[r]);
        if (r < 0)
                return cli_fail(&err, EXIT_USAGE);
        print_host();
        cella_options_default(&o);
        r = run_one(&o, nothing, &isolation, &result, &err);
        if (r < 0)
                return cli_fail(&err, EXIT_CELLA);
        cella_result_done(&result);
        print_layers(&isolation);
        fflush(stdout);
        int failures = doctor.attack ? attack_all(&err) : 0;
        if (failures < 0)
                return cli_fail(&err, EXIT_CELLA);
        if (failures > 0) {
                err_say(&err, CELLA_ISOLATION_UNAVAILABLE, -EPERM,
                        "%d attacks succeeded: do not run untrusted code here", failures);
                return cli_fail(&err, EXIT_CELLA);
        }
        return 0;
}

const struct cli_command cli_doctor = {
        .name = "doctor",
        .usage = "[--attack]",
        .summary = "show what this host can enforce, layer by layer",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = doctor_main,
};
