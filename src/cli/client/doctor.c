/* cli/client/doctor.c -- `cella doctor`: tests what this host can enforce, by using it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/cli.h"
#include "cli/client/api.h"
#include "cli/client/url.h"
#include "cli/program.h"
#include "config.h"
#include "engine/docker.h"
#include "jail/cgroup.h"
#include "jail/cgroup_home.h"
#include "sys/process.h"
#include "wire/docker.h"

struct doctor_options {
        bool attack;
        const char *socket;
};

static const struct cli_option options[] = {
        {"attack", NULL, "try about a hundred attacks; each of them must fail",
         CLI_INTO(CLI_FLAG, struct doctor_options, attack)},
        API_SOCKET_OPTION(struct doctor_options),
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
        {"landlock", "the file rules, enforced a second time"},
};

static bool doctor_has(const char *const *words, size_t n, const char *word)
{
        for (size_t i = 0; i < n; i++)
                if (!strcmp(words[i], word))
                        return true;
        return false;
}

static void print_host(void)
{
        struct utsname u = {0};
        unsigned major = 0, minor = 0;
        if (uname(&u) == 0)
                printf("kernel     %s %s\n", u.release, u.machine);
        printf("run as     %s\n", geteuid() == 0 ? "root" : "ordinary user");
        printf("cgroups    %s\n", cgroup_is_v2() ? "v2" : "v1 or hybrid");
        printf("landlock   version %d\n", sys_landlock_abi());
        /* An overlay needs an extended attribute that tmpfs of ordinary users supports since this version. */
        if (geteuid() != 0 && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
            (major < 6 || (major == 6 && minor < 6)))
                printf("images     before Linux 6.6, code of an ordinary user cannot remove directories of "
                       "an image (EIO)\n");
        putchar('\n');
}

static void print_layers(const struct cella_isolation *isolation)
{
        for (size_t i = 0; i < ARRAY_LEN(layers); i++)
                printf("%-10s %-8s %s\n", layers[i].name,
                       doctor_has(isolation->layers, isolation->n_layers, layers[i].name) ? "ok" : "MISSING",
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

/* Tests whether a sandbox can have a network: rules in its namespace, and the egress process. */
static void print_egress(void)
{
        const char *const nothing[] = {"/usr/bin/true", NULL};
        struct cella_err err = {0};
        struct cella_options o;
        struct cella_result result;
        cella_options_default(&o);
        o.network.tier = CELLA_STANDARD; /* nothing is allowed */
        int r = run_one(&o, nothing, NULL, &result, &err);
        bool works = r == 0 && result.network_known;
        if (r == 0)
                cella_result_done(&result);
        if (works)
                printf("%-10s %-8s network access by host name, where it is allowed\n", "egress", "ok");
        else
                printf("%-10s %-8s %s%s%s\n", "egress", "MISSING",
                       r < 0 ? err.msg : "the egress process does not answer",
                       r < 0 && err.hint[0] ? "; " : "", r < 0 ? err.hint : "");
}

/* Tests whether there is a second engine. */
static void print_docker(void)
{
        struct docker_opened found;
        struct cella_err err = {0};
        if (docker_find(&found, &err) < 0) {
                printf("\n%-10s %-8s %s%s%s\n", "docker", "none", err.msg, err.hint[0] ? "; " : "", err.hint);
                return;
        }
        const int oldest = docker_needs_version(&found);
        printf("\n%-10s %-8s %s %s at %s, runtimes: %s%s\n", "docker", oldest ? "OLD" : "ok",
               found.podman ? "podman" : "docker", found.version, found.socket, found.runtimes,
               found.rootless ? "; rootless" : "");
        if (oldest)
                printf("%-19s version %d is the oldest that Cella supports\n", "", oldest);
}

/* Prints how many interpreters are ready: the daemon has tried to start them. */
static void print_pools(const char *socket)
{
        AUTO(client_free) struct client *client = NULL;
        AUTO(api_answer_done) struct api_answer answer = {0};
        struct cella_err err = {0};
        struct url url;
        url_init(&url, "/v1/pools");
        if (client_new(socket, &client, &err) < 0 || api_call(client, "GET", &url, NULL, &answer, &err) < 0) {
                printf("\npools      unknown: no daemon is running (cella serve)\n");
                return;
        }
        json_t *pools = json_object_get(answer.root, "pools"), *p;
        size_t i;
        putchar('\n');
        json_array_foreach (pools, i, p) {
                char available[24], size[24], problem[256];
                api_text(json_object_get(p, "available"), available, sizeof available);
                api_text(json_object_get(p, "size"), size, sizeof size);
                api_text(json_object_get(p, "problem"), problem, sizeof problem);
                printf("%-10s %-8s %s of %s ready: %s%s%s\n", foreign_json_get_text(p, "runtime"),
                       problem[0] ? "SLOWER" : "ok", available, size, foreign_json_get_text(p, "waits"),
                       problem[0] ? "; no template: " : "", problem);
        }
}

/* In test/attack of the build directory, or installed beside this program. */
static int find_attacks(char *directory, size_t size, struct cella_err *err)
{
        static const char *const places[] = {"../test/attack", "."};
        char self[PROGRAM_DIRECTORY_SIZE], path[640];
        program_directory(self);
        for (size_t i = 0; i <= ARRAY_LEN(places); i++) {
                if (i < ARRAY_LEN(places))
                        snprintf(directory, size, "%s/%s", self, places[i]);
                else
                        snprintf(directory, size, "%s/cella", CELLA_LIBEXECDIR);
                snprintf(path, sizeof path, "%s/cella-doctor", directory);
                if (access(path, X_OK) == 0)
                        return 0;
        }
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "the attack programs are not installed");
        return err_hint(err, "install them with ./dev install");
}

/* Executes the program that tries all attacks, each in its own sandbox, and prints a line for each. */
static int attack_all(struct cella_err *err)
{
        char directory[600], program[640], attacks[640];
        int r = find_attacks(directory, sizeof directory, err);
        if (r < 0)
                return r;
        snprintf(program, sizeof program, "%s/cella-doctor", directory);
        snprintf(attacks, sizeof attacks, "%s/cella-attacks", directory);
        putchar('\n');
        fflush(stdout);
        execl(program, program, attacks, (char *)NULL);
        return err_set(err, CELLA_INTERNAL, -errno, "cannot start %.100s", program);
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
        print_egress();
        print_docker();
        print_pools(doctor.socket);
        fflush(stdout);
        if (!doctor.attack)
                return 0;
        attack_all(&err);
        return cli_fail(&err, EXIT_CELLA);
}

const struct cli_command cli_doctor = {
        .name = "doctor",
        .usage = "[OPTIONS]",
        .examples = "  cella doctor\n"
                    "  cella doctor --attack\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = doctor_main,
};
