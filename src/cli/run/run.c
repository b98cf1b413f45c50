/* cli/run/run.c -- `cella run`. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "cli/run/interactive.h"
#include "cli/run/options.h"
#include "cli/run/out.h"
#include "cli/run/packages.h"
#include "cli/run/words.h"
#include "cli/text.h"
#include "engine/hint.h"
#include "engine/result.h"
#include "image/store/store.h"
#include "sys/file.h"

#define TERMINAL_TIMEOUT_MS (24 * UINT64_C(3600000)) /* unless --timeout is given */
#define REFUSED_REPORTED 8                           /* refused connections shown without --verbose */

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

static int exit_status(const struct cella_result *r, const struct run_options *o)
{
        struct signalfd_siginfo info;
        switch (r->status) {
        case CELLA_TIMEOUT:
                return EXIT_TIMEOUT;
        case CELLA_MEMORY_LIMIT:
                return EXIT_MEMORY;
        case CELLA_CANCELLED:
                if (o->terminal.interrupted)
                        return 128 + SIGINT;
                if (sys_read(o->command.cancel_fd, &info, sizeof info) == (ssize_t)sizeof info)
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

static void tell_limit(const struct cella_result *r)
{
        char text[256];
        text_limit(text, sizeof text, cella_status_name(r->status), r->hint);
        fprintf(stderr, "cella: %s\n", text);
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
                tell_limit(r);
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

/* A copied file does not find the modules beside it.  The name of the module comes from the code: it is used
 * for nothing else. */
static void hint_of_sibling(const struct run_options *o, struct cella_result *r)
{
        static const char *const suffixes[] = {".py", ".js", ".json", ""};
        const char *module = r->missing_module, *file = o->words.file,
                   *slash = file ? strrchr(file, '/') : NULL;
        char path[PATH_MAX];
        if (!file || o->options.workspace || !module[0] || module[0] == '/' || strstr(module, ".."))
                return;
        module += !strncmp(module, "./", 2) ? 2 : 0;
        const int dir_len = slash ? (int)(slash - file) : 0, len = (int)strcspn(module, ".");
        for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
                snprintf(path, sizeof path, "%.*s%s%.*s%s", dir_len, file, slash ? "/" : "./", len, module,
                         suffixes[i]);
                if (access(path, F_OK) < 0)
                        continue;
                snprintf(r->hint, sizeof r->hint,
                         "%.*s is beside %.40s; to show the directory to the code: cella run --workspace "
                         "%.*s %s %.40s",
                         len, module, slash ? slash + 1 : file, slash ? dir_len : 1, slash ? file : ".",
                         o->command.runtime, slash ? slash + 1 : file);
                return;
        }
}

static int cli_run_execute(struct run_options *o, struct cella_err *err)
{
        static const int streams[2] = {STDOUT_FILENO, STDERR_FILENO};
        struct cella_sandbox *sandbox = NULL;
        struct cella_isolation isolation;
        struct cella_result result;
        sigset_t signals;
        o->command.env = o->env;
        o->command.list_files = o->json || o->out;
        o->command.final = true;
        o->command.stream_fds = o->json ? NULL : streams;
        o->command.cancel_fd = open_cancel(&signals);
        int copied = 0, r = cella_sandbox_new(&o->options, &sandbox, err);
        if (r == 0)
                r = packages_install(o, sandbox, err);
        if (r == 0) {
                interactive_begin(o);
                r = cella_run(sandbox, &o->command, &result, err);
                interactive_end(o);
        }
        if (r == 0)
                cella_sandbox_isolation(sandbox, &isolation);
        if (r == 0 && o->out)
                copied = out_copy(o, o->out_dir, sandbox, &result, err);
        cella_sandbox_free(sandbox);
        int status = r == 0 ? exit_status(&result, o) : 0;
        if (r == 0)
                hint_of_sibling(o, &result);
        /* Everything is cleaned up: signals may end the process again. */
        sigprocmask(SIG_UNBLOCK, &signals, NULL);
        close(o->command.cancel_fd);
        if (r < 0)
                return r;
        if (o->json)
                print_json(&result, o->command.runtime, &isolation);
        else if (o->verbose && cli_stderr_ready())
                cli_run_report(&result, &isolation);
        else if (cli_may_note())
                report_why(&result);
        cella_result_done(&result);
        return copied < 0 ? copied : status;
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
        o->options.limits.timeout_ms = 0; /* not given */
        int r = cli_parse(self, argc, argv, o, &o->options, err);
        if (r == CLI_HELP)
                return 0;
        if (r < 0)
                return r;
        o->command.limit_streamed = o->options.limits.output_bytes != standard.output_bytes;
        int words = r;
        if ((r = run_options_check(o, err)) < 0 || (r = packages_check(o, err)) < 0)
                return r;
        o->words.command = self->name;
        o->words.workspace = o->options.workspace;
        o->words.may_be_alone = interactive_possible(o);
        /* Without words, the default command of the image runs. */
        if (words < argc || !o->options.image)
                r = words_take(&o->command, &o->words, argc - words, argv + words, err);
        if (r < 0 || (r = interactive_choose(o, err)) < 0)
                return r;
        if (o->options.limits.timeout_ms == 0)
                o->options.limits.timeout_ms =
                        o->command.terminal ? TERMINAL_TIMEOUT_MS : standard.timeout_ms;
        if (o->out && (r = o->out_dir = out_open(o->out, err)) < 0)
                return r;
        o->understood = true;
        return cli_run_execute(o, err);
}

static bool runs_in_image(const struct run_options *o)
{
        return o->options.image && strcmp(o->options.image, IMAGE_HOST) != 0;
}

int run_main(const struct cli_command *self, int argc, char **argv)
{
        static struct run_options o = {.out_dir = -1}; /* large */
        struct cella_err err = {0};
        int r = cli_run_code(self, argc, argv, &o, &err);
        for (size_t i = 0; i < o.n_copies; i++)
                free(o.copies[i]);
        free(o.words.code);
        sys_close(o.out_dir);
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
