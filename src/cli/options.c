/* cli/options.c -- the names of all commands; one parser and one help for their option tables; errors. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/parse.h"
#include "base/runtime.h"
#include "cli/cli.h"
#include "cli/text.h"

/* In the order in which the help lists them. */
const struct cli_name cli_names[] = {
        {"run", "run code or a command in a new sandbox"},
        {"serve", "run the daemon: HTTP API, persistent sandboxes, log"},
        {"create", "create a persistent sandbox and print its id", .client = true},
        {"exec", "run code or a command in a sandbox of the daemon", .client = true},
        {"raise", "raise or lower limits of a sandbox of the daemon", .client = true},
        {"ls", "list the daemon's sandboxes", .client = true},
        {"ps", "list background processes and executions of a sandbox", .client = true},
        {"top", "show live sandboxes, what they use, and running executions", .client = true},
        {"kill", "send a signal to a background process, or cancel an execution", .client = true},
        {"rm", "remove sandboxes and end their processes", .client = true},
        {"cp", "copy a file or directory into a sandbox or out of it", .client = true},
        {"shell", "open a terminal in a sandbox", .client = true},
        {"logs", "list past executions, or show one", .client = true},
        {"pool", "show the pools of ready sandboxes; lease a sandbox, and give it back", .client = true},
        {"settings", "show and change the daemon's settings", .client = true},
        {"key", "create, list and remove keys of the daemon's API", .client = true},
        {"secret", "manage secrets: values that code gets as environment variables", .client = true},
        {"image", "manage images: root file systems for sandboxes", .client = true},
        {"scan", "report what a program would do: imports, network, files, processes"},
        {"mcp", "run an MCP server on standard input and output, for an agent"},
        {"backup", "copy the daemon's settings, keys, secrets and log to a file"},
        {"restore", "put the copy of a backup in place"},
        {"doctor", "show the isolation layers and limits that this host supports", .client = true},
        {"bench", "measure latency, throughput and memory, compared with bare execution", .client = true},
        {"runtime", "list the runtimes of this machine and of the images", .client = true},
        {"completion", "print a script that completes the command line in bash, zsh or fish"},
        {"version", "print the version"},
        {"help", "show this help"},
};
const size_t cli_names_len = ARRAY_LEN(cli_names);

const struct cli_name *cli_find_name(const char *name)
{
        for (size_t i = 0; i < cli_names_len; i++)
                if (!strcmp(cli_names[i].name, name))
                        return &cli_names[i];
        return NULL;
}

const char *const cli_units[] = {
        [LIMIT_BYTES] = "SIZE", [LIMIT_TIME] = "TIME", [LIMIT_CORES] = "N", [LIMIT_COUNT] = "N"};

static int set_limit(const struct limit *limit, struct cella_options *options, const char *text,
                     struct cella_err *err)
{
        static int (*const parsers[])(const char *, uint64_t *) = {[LIMIT_BYTES] = parse_bytes,
                                                                   [LIMIT_TIME] = parse_milliseconds,
                                                                   [LIMIT_CORES] = parse_thousandths,
                                                                   [LIMIT_COUNT] = parse_count};
        static const char *const examples[] = {[LIMIT_BYTES] = "a size like 512M",
                                               [LIMIT_TIME] = "a time like 500ms, 5s or 2m",
                                               [LIMIT_CORES] = "a number like 0.5 or 2",
                                               [LIMIT_COUNT] = "a whole number"};
        uint64_t value;
        int r = parsers[limit->unit](text, &value);
        if (r == -EINVAL)
                return err_say(err, CELLA_INVALID_REQUEST, r, "--%s takes %s, not '%.40s'", limit->option,
                               examples[limit->unit], text);
        /* 0 would mean "not set", and a large number could overflow to a small one. */
        if (r < 0 || value < limit->min || value > limit->max) {
                char min[32], max[32];
                limit_write(limit, limit->min, min, sizeof min);
                limit_write(limit, limit->max, max, sizeof max);
                return err_say(err, CELLA_INVALID_REQUEST, -ERANGE,
                               "--%s %.40s is out of range (%s: %s to %s)", limit->option, text, limit->name,
                               min, max);
        }
        limit_put(&options->limits, limit, value);
        options->required |= limit->bit;
        return 0;
}

static const struct limit *find_limit(const struct cli_command *c, const char *name, size_t len)
{
        for (size_t i = 0; c->takes_limits && i < limits_table_len; i++)
                if (strlen(limits_table[i].option) == len && !strncmp(limits_table[i].option, name, len))
                        return &limits_table[i];
        return NULL;
}

static const struct cli_option *find_option(const struct cli_command *c, const char *name, size_t len)
{
        for (size_t i = 0; i < c->n_options; i++)
                if (strlen(c->options[i].name) == len && !strncmp(c->options[i].name, name, len))
                        return &c->options[i];
        return NULL;
}

static int cli_options_unknown(const struct cli_command *c, const char *word, struct cella_err *err)
{
        char name[40];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
        const char *typed = name + strspn(name, "-");
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "unknown option '%s' of 'cella %s'", name, c->name);
        const char *near = c->n_options
                                   ? parse_nearest(typed, &c->options->name, c->n_options, sizeof *c->options)
                                   : NULL;
        if (!near && c->takes_limits)
                near = parse_nearest(typed, &limits_table[0].option, limits_table_len,
                                     sizeof limits_table[0]);
        return near ? err_hint(err, "did you mean --%s?", near)
                    : err_hint(err, "cella %s --help lists them", c->name);
}

static int set_field(const struct cli_option *o, void *target, const char *value, struct cella_err *err)
{
        void *field = (char *)target + o->offset;
        struct cli_list *list = field;
        uint64_t *number = field;
        int r = 0;
        switch (o->field) {
        case CLI_FLAG:
                *(bool *)field = true;
                return 0;
        case CLI_TEXT:
                *(const char **)field = value;
                return 0;
        case CLI_LIST:
                if (list->n == CLI_LIST_MAX)
                        return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "more than %d --%s", CLI_LIST_MAX,
                                       o->name);
                list->items[list->n++] = value;
                return 0;
        case CLI_TIME:
                r = parse_milliseconds(value, number);
                break;
        case CLI_COUNT:
                r = parse_count(value, number);
                break;
        case CLI_SIZE:
                r = parse_bytes(value, number);
                break;
        }
        if (r < 0 || *number == 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--%s takes %s, not '%.40s'", o->name,
                               o->field == CLI_TIME   ? "a time like 30s, 10m or 1h"
                               : o->field == CLI_SIZE ? "a size like 512M or 4G"
                                                      : "a number above 0",
                               value);
        return 0;
}

static int set_option(const struct cli_option *o, void *target, const char *value, struct cella_err *err)
{
        return o->set ? o->set(target, value, err) : set_field(o, target, value, err);
}

static const struct cli_option *find_letter(const struct cli_command *c, char letter)
{
        for (size_t i = 0; i < c->n_options; i++)
                if (c->options[i].letter == letter)
                        return &c->options[i];
        return NULL;
}

char cli_limit_letter(const struct limit *limit)
{
        return !strcmp(limit->option, "memory") ? 'm' : 0;
}

static const struct limit *find_limit_letter(const struct cli_command *c, char letter)
{
        for (size_t i = 0; c->takes_limits && i < limits_table_len; i++)
                if (cli_limit_letter(&limits_table[i]) == letter)
                        return &limits_table[i];
        return NULL;
}

/* Takes a word like -it, -m512m or -m 512m.  Sets *used to the number of words. */
static int take_letters(const struct cli_command *c, char **words, int n, void *target,
                        struct cella_options *options, int *used, struct cella_err *err)
{
        const size_t len = strlen(words[0] + 1);
        *used = 1;
        if (find_option(c, words[0] + 1, len) || find_limit(c, words[0] + 1, len)) /* -timeout */
                return cli_options_unknown(c, words[0], err);
        for (const char *at = words[0] + 1; *at; at++) {
                const struct cli_option *option = find_letter(c, *at);
                const struct limit *limit = find_limit_letter(c, *at);
                if (!option && !limit)
                        return cli_options_unknown(c, words[0], err);
                if (option && !option->argument) {
                        int r = set_option(option, target, NULL, err);
                        if (r < 0)
                                return r;
                        continue;
                }
                const char *value = at[1] ? at + 1 : n > 1 ? words[1] : NULL;
                if (!value)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "-%c needs a value (%s)", *at,
                                       option ? option->argument : cli_units[limit->unit]);
                *used = at[1] ? 1 : 2;
                return option ? set_option(option, target, value, err)
                              : set_limit(limit, options, value, err);
        }
        return 0;
}

/* Sets *used to the number of words that the option consumed. */
static int take_option(const struct cli_command *c, char **words, int n, void *target,
                       struct cella_options *options, int *used, struct cella_err *err)
{
        if (words[0][1] != '-')
                return take_letters(c, words, n, target, options, used, err);
        const char *name = words[0] + 2, *equals = strchr(name, '=');
        size_t len = equals ? (size_t)(equals - name) : strlen(name);
        const struct cli_option *option = find_option(c, name, len);
        const struct limit *limit = find_limit(c, name, len);
        if (!option && !limit)
                return cli_options_unknown(c, words[0], err);
        const char *value = equals ? equals + 1 : n > 1 ? words[1] : NULL;
        *used = 1;
        if (option && !option->argument) {
                if (equals)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--%s takes no value",
                                       option->name);
                return set_option(option, target, NULL, err);
        }
        if (!value)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s needs a value (%s)", words[0],
                               option ? option->argument : cli_units[limit->unit]);
        *used = equals ? 1 : 2;
        return option ? set_option(option, target, value, err) : set_limit(limit, options, value, err);
}

int cli_parse(const struct cli_command *c, int argc, char **argv, void *target, struct cella_options *options,
              struct cella_err *err)
{
        int i = 1;
        while (i < argc && argv[i][0] == '-' && argv[i][1]) {
                int used = 1;
                if (!strcmp(argv[i], "--"))
                        break;
                if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
                        if (c->short_usage)
                                cli_print_short_help(c);
                        else
                                cli_print_help(c);
                        return CLI_HELP;
                }
                int r = take_option(c, argv + i, argc - i, target, options, &used, err);
                if (r < 0)
                        return r;
                i += used;
        }
        return i;
}

int cli_parse_all(const struct cli_command *c, int argc, char **argv, void *target,
                  struct cella_options *options, struct cella_err *err)
{
        int words = 0, at = 0;
        while (at < argc - 1) {
                /* cli_parse() skips the first word as the command's name. */
                int next = cli_parse(c, argc - at, argv + at, target, options, err);
                if (next < 0)
                        return next;
                at += next;
                if (at < argc && !strcmp(argv[at], "--")) {
                        while (++at < argc)
                                argv[1 + words++] = argv[at];
                        break;
                }
                if (at < argc)
                        argv[1 + words++] = argv[at];
        }
        return words;
}

bool cli_stderr_ready(void)
{
        struct pollfd fd = {STDERR_FILENO, POLLOUT, 0};
        return poll(&fd, 1, 0) == 1 && (fd.revents & POLLOUT);
}

static bool cli_quiet;

int cli_set_quiet(void *target, const char *value, struct cella_err *err)
{
        (void)target, (void)value, (void)err;
        cli_quiet = true;
        return 0;
}

bool cli_may_note(void)
{
        return !cli_quiet && cli_stderr_ready();
}

int cli_fail(const struct cella_err *err, int status)
{
        const char *no_colour = getenv("NO_COLOR");
        bool colour = isatty(STDERR_FILENO) && !(no_colour && *no_colour);
        char msg[sizeof err->msg], hint[sizeof err->hint];
        if (!cli_stderr_ready())
                return status;
        text_safe(msg, sizeof msg, err->msg); /* it may quote names or text from a sandbox */
        text_safe(hint, sizeof hint, err->hint);
        fprintf(stderr, "%scella:%s %s%s%s\n", colour ? "\033[31m" : "", colour ? "\033[0m" : "", msg,
                hint[0] ? "; " : "", hint);
        return status;
}

void cli_print_error(const struct cella_err *err)
{
        struct json j = {.out = stdout};
        json_put_open(&j, NULL, '{');
        json_put_open(&j, "error", '{');
        json_put_string(&j, "kind", cella_kind_name(err->kind));
        json_put_string(&j, "message", err->msg);
        json_put_string(&j, "hint", err->hint);
        json_put_close(&j, '}');
        json_put_close(&j, '}');
        putchar('\n');
}

/* The kind of the error does not tell a missing command from a missing image; and the error may come from a
 * daemon.  The beginning of the message is part of the interface. */
int cli_error_status(const struct cella_err *err)
{
        static const char missing[] = COMMAND_NOT_FOUND;
        if (err->kind == CELLA_INVALID_REQUEST)
                return EXIT_USAGE;
        return strncmp(err->msg, missing, sizeof missing - 1) == 0 ? EXIT_MISSING : EXIT_CELLA;
}

int cli_finish(int r, const struct cella_err *err, bool json)
{
        if (r == CLI_HELP)
                return 0;
        if (r >= 0)
                return r;
        if (json)
                cli_print_error(err);
        return cli_fail(err, cli_error_status(err));
}

static void (*signal_cleanup)(void);

static void cli_options_on_signal(int number)
{
        if (signal_cleanup)
                signal_cleanup();
        _exit(128 + number);
}

void cli_on_signal(void (*cleanup)(void))
{
        static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
        struct sigaction old, action = {.sa_handler = cli_options_on_signal};
        signal_cleanup = cleanup;
        sigfillset(&action.sa_mask);
        for (size_t i = 0; i < ARRAY_LEN(signals); i++)
                if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
                        sigaction(signals[i], &action, NULL);
}
