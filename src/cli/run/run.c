/* cli/run/run.c -- `cella run`. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/run/words.h"
#include "egress/policy/policy.h"
#include "engine/hint.h"
#include "engine/result.h"
#include "image/store/store.h"
#include "sys/file.h"

#define LIST_MAX 64
#define REFUSED_REPORTED 8 /* refused connections shown without --verbose */

struct run_options {
        struct cella_options options;
        struct cella_command command;
        struct cella_mount mounts[LIST_MAX];
        const char *env[LIST_MAX * 4];
        size_t n_env;
        struct cli_list allowed, blocked, private; /* patterns of network destinations */
        bool json, verbose;
        bool understood;            /* the command line was valid */
        char *code;                 /* contents of a file; owned */
        char *copies[LIST_MAX + 2]; /* of --mount and --workspace, split at their colons; owned */
        size_t n_copies;
};

/* A copy of text without its access suffix (":ro", ":rw"). */
static char *cut_access(struct run_options *o, const char *text, bool *writable)
{
        char *copy = o->n_copies < ARRAY_LEN(o->copies) ? strdup(text) : NULL;
        if (!copy)
                return NULL;
        o->copies[o->n_copies++] = copy;
        size_t len = strlen(copy);
        *writable = false;
        if (len > 3 && (!strcmp(copy + len - 3, ":rw") || !strcmp(copy + len - 3, ":ro"))) {
                *writable = copy[len - 1] == 'w';
                copy[len - 3] = '\0';
        }
        return copy;
}

static int set_workspace(void *target, const char *value, struct cella_err *err)
{
        struct run_options *o = target;
        char *path = cut_access(o, value, &o->options.workspace_writable);
        if (!path)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "--workspace");
        if (!*path)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--workspace takes DIR, DIR:ro or DIR:rw");
        o->options.workspace = path;
        return 0;
}

static int set_mount(void *target, const char *value, struct cella_err *err)
{
        struct run_options *o = target;
        struct cella_mount *m = &o->mounts[o->options.n_mounts];
        if (o->options.n_mounts == LIST_MAX)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "more than %d --mount", LIST_MAX);
        char *source = cut_access(o, value, &m->writable);
        if (!source)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "--mount");
        char *colon = strrchr(source, ':');
        if (!colon || colon == source || !colon[1])
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--mount takes SOURCE:TARGET, with :ro or :rw after it, not '%.80s'", value);
        *colon = '\0';
        m->source = source;
        m->target = colon + 1;
        o->options.mounts = o->mounts;
        o->options.n_mounts++;
        return 0;
}

static int set_env(void *target, const char *value, struct cella_err *err)
{
        struct run_options *o = target;
        if (o->n_env == ARRAY_LEN(o->env) - 1)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "more than %zu --env",
                               ARRAY_LEN(o->env) - 1);
        if (strcspn(value, "=") == 0 || !strchr(value, '='))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--env takes NAME=VALUE, not '%.60s'",
                               value);
        o->env[o->n_env++] = value;
        return 0;
}

static int set_cwd(void *target, const char *value, struct cella_err *err)
{
        if (value[0] != '/')
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--cwd takes an absolute path, not '%.80s'", value);
        ((struct run_options *)target)->command.cwd = value;
        return 0;
}

static int set_image(void *target, const char *value, struct cella_err *err)
{
        (void)err;
        ((struct run_options *)target)->options.image = value;
        return 0;
}

static int set_engine(void *target, const char *value, struct cella_err *err)
{
        if (strcmp(value, "native") != 0 && strcmp(value, "docker") != 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--engine may be native or docker, not '%.60s'", value);
        ((struct run_options *)target)->options.engine = value;
        return 0;
}

static int set_network(void *target, const char *value, struct cella_err *err)
{
        static const struct {
                const char *word;
                enum cella_tier tier;
        } tiers[] = {
                {"restricted", CELLA_RESTRICTED}, {"sandbox", CELLA_RESTRICTED},
                {"standard", CELLA_STANDARD},     {"elevated", CELLA_ELEVATED},
                {"unrestricted", CELLA_ELEVATED},
        };
        for (size_t i = 0; i < ARRAY_LEN(tiers); i++)
                if (!strcmp(value, tiers[i].word)) {
                        ((struct run_options *)target)->options.network.tier = tiers[i].tier;
                        return 0;
                }
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                       "--network may be restricted, standard or elevated, not '%.60s'", value);
}

static int add_pattern(struct cli_list *list, enum policy_list kind, const char *option, const char *value,
                       struct cella_err *err)
{
        const char *why = policy_check_pattern(kind, value);
        if (why)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--%s cannot be '%.60s': %.120s", option,
                               value, why);
        if (list->n == CLI_LIST_MAX)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "more than %d --%s", CLI_LIST_MAX, option);
        list->items[list->n++] = value;
        return 0;
}

static int set_allow(void *target, const char *value, struct cella_err *err)
{
        return add_pattern(&((struct run_options *)target)->allowed, POLICY_ALLOWED, "allow", value, err);
}

static int set_block(void *target, const char *value, struct cella_err *err)
{
        return add_pattern(&((struct run_options *)target)->blocked, POLICY_BLOCKED, "block", value, err);
}

static int set_allow_private(void *target, const char *value, struct cella_err *err)
{
        return add_pattern(&((struct run_options *)target)->private, POLICY_PRIVATE, "allow-private", value,
                           err);
}

/* A list without effect is an error, because it restricts or permits network access. */
static int take_network(struct run_options *o, struct cella_err *err)
{
        struct cella_network *n = &o->options.network;
        if (o->allowed.n > 0 && n->tier == CELLA_ELEVATED)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "--allow goes with --network standard; elevated is any public address");
        const char *needless = o->allowed.n > 0   ? "--allow needs --network standard"
                               : o->blocked.n > 0 ? "--block needs --network standard or elevated"
                               : o->private.n > 0 ? "--allow-private needs --network standard or elevated"
                                                  : NULL;
        if (needless && n->tier == CELLA_RESTRICTED)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s", needless);
        n->allowed = o->allowed.items;
        n->blocked = o->blocked.items;
        n->allowed_private = o->private.items;
        return 0;
}

static int set_user(void *target, const char *value, struct cella_err *err)
{
        bool root = !strcmp(value, "root");
        if (!root && strcmp(value, "user") != 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--user may be user or root, not '%.60s'",
                               value);
        ((struct run_options *)target)->options.user_root = root;
        return 0;
}

static int set_kill_on_output(void *target, const char *value, struct cella_err *err)
{
        (void)value, (void)err;
        ((struct run_options *)target)->command.kill_on_output_limit = true;
        return 0;
}

static int set_json(void *target, const char *value, struct cella_err *err)
{
        (void)value, (void)err;
        ((struct run_options *)target)->json = true;
        return 0;
}

static int set_verbose(void *target, const char *value, struct cella_err *err)
{
        (void)value, (void)err;
        ((struct run_options *)target)->verbose = true;
        return 0;
}

static const struct cli_option options[] = {
        {"workspace", "DIR[:ro|:rw]", "mount DIR at /workspace (read-only unless :rw)", set_workspace},
        {"mount", "SRC:DST[:ro|:rw]", "mount a file or directory at DST (read-only unless :rw)", set_mount},
        {"env", "NAME=VALUE", "set a variable; nothing is inherited", set_env},
        {"cwd", "DIR", "working directory (/workspace)", set_cwd},
        {"user", "user|root", "the user of the code inside; outside it has no rights (user)", set_user},
        {"network", "TIER", "restricted: none; standard: only --allow; elevated: any public address",
         set_network},
        {"allow", "DOMAIN[:PORT]", "allow connections; *.DOMAIN: all names below it (ports 80 and 443)",
         set_allow},
        {"block", "DOMAIN[:PORT]", "refuse connections, even if allowed otherwise (every port)", set_block},
        {"allow-private", "PATTERN", "allow a private address for this name, address or network",
         set_allow_private},
        {"image", "NAME", "a root file system of the store (host: a read-only view of this machine's /usr)",
         set_image},
        {"engine", "NAME", "native; docker: a container of Docker or Podman, with one of their images",
         set_engine},
        {"kill-on-output", NULL, "end the run when it writes more than --output", set_kill_on_output},
        {"json", NULL, "print the whole result as JSON", set_json},
        {"verbose", NULL, "print the isolation and the resource usage on stderr", set_verbose},
};

/* Signals that end the program end the sandbox first. */
static int open_cancel(sigset_t *set)
{
        sigemptyset(set);
        sigaddset(set, SIGINT);
        sigaddset(set, SIGTERM);
        sigaddset(set, SIGHUP);
        sigaddset(set, SIGQUIT);
        sigaddset(set, SIGUSR1);
        sigaddset(set, SIGUSR2);
        sigprocmask(SIG_BLOCK, set, NULL);
        return signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int exit_status(const struct cella_result *r, int cancel_fd)
{
        struct signalfd_siginfo info;
        switch (r->status) {
        case CELLA_TIMEOUT:
                return EXIT_TIMEOUT;
        case CELLA_MEMORY_LIMIT:
                return EXIT_MEMORY;
        case CELLA_CANCELLED:
                if (sys_read(cancel_fd, &info, sizeof info) == (ssize_t)sizeof info)
                        return 128 + (int)info.ssi_signo;
                return 128 + SIGPIPE; /* the reader of our output is gone */
        default:
                return r->exit_code;
        }
}

static void tell_refused(const struct cella_violation *v)
{
        fprintf(stderr, "cella: refused: %s %s: %s\n", v->kind, v->target, v->detail);
}

static void report_network(const struct cella_result *r)
{
        const struct cella_network_usage *n = &r->network;
        if (r->network_known)
                fprintf(stderr,
                        "cella: network: %llu connections, %llu lookups, %llu refused, %llu bytes sent, "
                        "%llu received\n",
                        (unsigned long long)n->connections, (unsigned long long)n->lookups,
                        (unsigned long long)n->refused, (unsigned long long)n->bytes_sent,
                        (unsigned long long)n->bytes_received);
        for (size_t i = 0; i < r->n_violations; i++)
                tell_refused(&r->violations[i]);
}

static void cli_run_report(const struct cella_result *r, const struct cella_isolation *isolation)
{
        fprintf(stderr, "cella: %s in %s: %s, exit code %d, %.1f ms, CPU %.1f ms, memory %llu KiB\n", r->id,
                r->sandbox, cella_status_name(r->status), r->exit_code, (double)r->duration_us / 1000,
                (double)r->cpu_us / 1000, (unsigned long long)r->memory_peak_bytes / 1024);
        fprintf(stderr, "cella: isolation:");
        for (size_t i = 0; i < isolation->n_layers; i++)
                fprintf(stderr, " %s", isolation->layers[i]);
        for (size_t i = 0; i < isolation->n_missing; i++)
                fprintf(stderr, "%s %s", i ? "" : "; missing:", isolation->missing[i]);
        fputc('\n', stderr);
        report_network(r);
        if (r->hint[0])
                fprintf(stderr, "cella: hint: %s\n", r->hint);
}

/* Prints what the output of the code does not show: the limit that ended it, and refused connections. */
static void report_why(const struct cella_result *r)
{
        size_t reported = 0;
        for (size_t i = 0; i < r->n_violations && reported < REFUSED_REPORTED; i++)
                if (!strcmp(r->violations[i].kind, "network")) {
                        tell_refused(&r->violations[i]);
                        reported++;
                }
        if (r->status != CELLA_EXITED && r->status != CELLA_SIGNALED && r->status != CELLA_CANCELLED)
                fprintf(stderr, "cella: %s%s%s\n", cella_status_name(r->status), r->hint[0] ? "; " : "",
                        r->hint);
        else if (r->hint[0])
                fprintf(stderr, "cella: hint: %s\n", r->hint);
}

/* Prints the result in the form of the HTTP API. */
static void print_json(const struct cella_result *result, const char *runtime,
                       const struct cella_isolation *isolation)
{
        struct json j = {.out = stdout};
        result_write(&j, result, &(struct result_about){.runtime = runtime, .isolation = isolation}, 0);
        putchar('\n');
}

static int cli_run_execute(struct run_options *o, struct cella_err *err)
{
        static const int streams[2] = {STDOUT_FILENO, STDERR_FILENO};
        struct cella_sandbox *sandbox = NULL;
        struct cella_isolation isolation;
        struct cella_result result;
        sigset_t signals;
        o->command.env = o->env;
        o->command.list_files = o->json;
        o->command.final = true;
        o->command.stream_fds = o->json ? NULL : streams;
        o->command.cancel_fd = open_cancel(&signals);
        int r = cella_sandbox_new(&o->options, &sandbox, err);
        if (r == 0)
                r = cella_run(sandbox, &o->command, &result, err);
        if (r == 0)
                cella_sandbox_isolation(sandbox, &isolation);
        cella_sandbox_free(sandbox);
        int status = r == 0 ? exit_status(&result, o->command.cancel_fd) : 0;
        /* Everything is cleaned up: signals may end the process again. */
        sigprocmask(SIG_UNBLOCK, &signals, NULL);
        close(o->command.cancel_fd);
        if (r < 0)
                return r;
        if (o->json)
                print_json(&result, o->command.runtime, &isolation);
        else if (o->verbose && cli_stderr_ready())
                cli_run_report(&result, &isolation);
        else if (cli_stderr_ready())
                report_why(&result);
        cella_result_done(&result);
        return status;
}

/* Implements `cella run`; sets *err if it returns -errno. */
static int cli_run_code(const struct cli_command *self, int argc, char **argv, struct run_options *o,
                        struct cella_err *err)
{
        struct cella_limits standard;
        cella_options_default(&o->options);
        cella_limits_default(&standard);
        o->command.stdin_fd = STDIN_FILENO;
        o->command.cancel_fd = -1;
        int r = cli_parse(self, argc, argv, o, &o->options, err);
        if (r == CLI_HELP)
                return 0;
        if (r < 0)
                return r;
        o->command.limit_streamed = o->options.limits.output_bytes != standard.output_bytes;
        int words = r;
        if ((r = take_network(o, err)) < 0)
                return r;
        /* Without words, the default command of the image runs. */
        if (words < argc || !o->options.image)
                r = words_take(&o->command, &o->code, self->name, argc - words, argv + words, err);
        if (r < 0)
                return r;
        o->understood = true;
        return cli_run_execute(o, err);
}

static bool runs_in_image(const struct run_options *o)
{
        return o->options.image && strcmp(o->options.image, IMAGE_HOST) != 0;
}

static int run_main(const struct cli_command *self, int argc, char **argv)
{
        static struct run_options o; /* large */
        struct cella_err err = {0};
        int r = cli_run_code(self, argc, argv, &o, &err);
        for (size_t i = 0; i < o.n_copies; i++)
                free(o.copies[i]);
        free(o.code);
        if (r >= 0)
                return r;
        if (err.kind == CELLA_RUNTIME_NOT_FOUND) {
                char store[4096];
                bool known = image_store_path(NULL, store, sizeof store, NULL) == 0;
                hint_of_runtime(known ? store : NULL, o.command.runtime, !runs_in_image(&o), &err);
        }
        if (o.json)
                cli_print_error(&err);
        return cli_fail(&err, o.understood ? cli_error_status(&err) : EXIT_USAGE);
}

const struct cli_command cli_run = {
        .name = "run",
        .usage = "[OPTIONS] RUNTIME -c CODE [ARG...] | RUNTIME FILE [ARG...] | -- COMMAND [ARG...] |\n"
                 "                 --image NAME",
        .text = "The exit status is that of the code; 124 after a timeout, 137 if it was killed because of "
                "its\n"
                "memory limit, 127 if the command does not exist, 125 if Cella itself failed, 2 after a "
                "usage\nerror.",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .takes_limits = true,
        .takes_runtime = true,
        .main = run_main,
};
