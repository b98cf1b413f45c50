/* cli/options.c -- one parser and one help for the option tables of all commands. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/parse.h"
#include "cli/cli.h"

static const char *const unit_names[] = {
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
        /* 0 must not come to mean "not set", nor a large number a small one. */
        if (r < 0 || value < limit->min || value > limit->max)
                return err_say(err, CELLA_INVALID_REQUEST, -ERANGE,
                               "--%s %.40s is out of range (%s: %llu to %llu)", limit->option, text,
                               limit->name, (unsigned long long)limit->min, (unsigned long long)limit->max);
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

static int unknown(const struct cli_command *c, const char *word, struct cella_err *err)
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

/* Sets *used to how many words the option took. */
static int take_option(const struct cli_command *c, char **words, int n, void *target,
                       struct cella_options *options, int *used, struct cella_err *err)
{
        const char *name = words[0] + 2, *equals = strchr(name, '=');
        size_t len = equals ? (size_t)(equals - name) : strlen(name);
        const struct cli_option *option = find_option(c, name, len);
        const struct limit *limit = find_limit(c, name, len);
        if (strncmp(words[0], "--", 2) != 0 || (!option && !limit))
                return unknown(c, words[0], err);
        const char *value = equals ? equals + 1 : n > 1 ? words[1] : NULL;
        *used = 1;
        if (option && !option->argument) {
                if (equals)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "--%s takes no value",
                                       option->name);
                return option->set(target, NULL, err);
        }
        if (!value)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s needs a value (%s)", words[0],
                               option ? option->argument : unit_names[limit->unit]);
        *used = equals ? 1 : 2;
        return option ? option->set(target, value, err) : set_limit(limit, options, value, err);
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

static void print_standard(const struct limit *l)
{
        if (l->standard == 0)
                printf(" (none)\n");
        else if (l->unit == LIMIT_BYTES)
                printf(" (%lluM)\n", (unsigned long long)(l->standard >> 20));
        else if (l->unit == LIMIT_TIME)
                printf(" (%llus)\n", (unsigned long long)(l->standard / 1000));
        else if (l->unit == LIMIT_CORES)
                printf(" (%llu)\n", (unsigned long long)(l->standard / 1000));
        else
                printf(" (%llu)\n", (unsigned long long)l->standard);
}

void cli_print_help(const struct cli_command *c)
{
        char left[64];
        printf("usage: cella %s %s\n\n%s\n", c->name, c->usage, c->summary);
        if (c->text)
                printf("\n%s\n", c->text);
        if (c->n_options > 0 || c->takes_limits)
                printf("\noptions:\n");
        for (size_t i = 0; i < c->n_options; i++) {
                snprintf(left, sizeof left, "--%s %s", c->options[i].name,
                         c->options[i].argument ? c->options[i].argument : "");
                printf("  %-28s %s\n", left, c->options[i].help);
        }
        if (c->takes_limits)
                printf("\nlimits (SIZE: K, M, G; TIME: ms, s, m, h), with their defaults:\n");
        for (size_t i = 0; c->takes_limits && i < limits_table_len; i++) {
                snprintf(left, sizeof left, "--%s %s", limits_table[i].option,
                         unit_names[limits_table[i].unit]);
                printf("  %-28s %s", left, limits_table[i].help);
                print_standard(&limits_table[i]);
        }
}

bool cli_stderr_ready(void)
{
        struct pollfd fd = {STDERR_FILENO, POLLOUT, 0};
        return poll(&fd, 1, 0) == 1 && (fd.revents & POLLOUT);
}

int cli_fail(const struct cella_err *err, int status)
{
        bool colour = isatty(STDERR_FILENO);
        if (!cli_stderr_ready())
                return status;
        fprintf(stderr, "%scella:%s %s%s%s\n", colour ? "\033[31m" : "", colour ? "\033[0m" : "", err->msg,
                err->hint[0] ? "; " : "", err->hint);
        return status;
}
