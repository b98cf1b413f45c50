/* cli/help.c -- the help of a command, from its option table. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/parse.h"
#include "base/runtime.h"
#include "cli/cli.h"

/* In the short help. */
static const struct {
        const char *option, *help;
} main_limits[] = {
        {"memory", "of all processes and of /tmp, with swap"},
        {"timeout", "wall time"},
};

static const char *short_limit_help(const struct limit *l)
{
        for (size_t i = 0; i < ARRAY_LEN(main_limits); i++)
                if (!strcmp(main_limits[i].option, l->option))
                        return main_limits[i].help;
        return NULL;
}

static void print_left(char letter, const char *name, const char *argument)
{
        char left[64];
        snprintf(left, sizeof left, "%c%c%s--%s %s", letter ? '-' : ' ', letter ? letter : ' ',
                 letter ? ", " : "  ", name, argument ? argument : "");
        printf("  %-29s ", left);
}

static void print_limit(const struct limit *l, const char *help)
{
        char standard[32] = "none";
        if (l->standard)
                limit_write(l, l->standard, standard, sizeof standard);
        print_left(cli_limit_letter(l), l->option, cli_units[l->unit]);
        printf("%s (%s)\n", help, standard);
}

/* Prints a name in the list that is at this column, and returns the next column. */
static int print_more(int column, const char *name)
{
        if (column + (int)strlen(name) + 3 > 79)
                column = printf("\n     ") - 1;
        return column + printf(" --%s", name);
}

/* At most 23 lines of 80 characters: one screen, with the next prompt. */
void cli_print_short_help(const struct cli_command *c)
{
        printf("usage: cella %s %s\n\n%soptions:\n", c->name, c->short_usage, c->examples);
        for (size_t i = 0; i < c->n_options; i++)
                if (!c->options[i].rare) {
                        print_left(c->options[i].letter, c->options[i].name, c->options[i].argument);
                        printf("%s\n", c->options[i].help);
                }
        for (size_t i = 0; i < limits_table_len; i++)
                if (short_limit_help(&limits_table[i]))
                        print_limit(&limits_table[i], short_limit_help(&limits_table[i]));
        int column = printf("more:");
        for (size_t i = 0; i < c->n_options; i++)
                if (c->options[i].rare)
                        column = print_more(column, c->options[i].name);
        for (size_t i = 0; i < limits_table_len; i++)
                if (!short_limit_help(&limits_table[i]))
                        column = print_more(column, limits_table[i].option);
        printf("\n'cella help %s' explains all of them; see also cella(1).\n", c->name);
}

static void print_runtimes(void)
{
        printf("\nruntimes (a version may follow the name: python3.12, node22, c++20):\n ");
        for (size_t i = 0; i < runtimes_len; i++)
                printf(" %s", runtimes[i].name);
        putchar('\n');
}

const char *cli_summary(const struct cli_command *c)
{
        const struct cli_name *name = cli_find_name(c->name);
        return c->summary || !name ? c->summary : name->summary;
}

bool cli_next_form(const char **at, char ret[CLI_FORM_MAX])
{
        size_t n = 0;
        *at += strspn(*at, " |\n");
        if (!**at)
                return false;
        for (; **at && strncmp(*at, " | ", 3) != 0 && strncmp(*at, " |\n", 3) != 0; (*at)++) {
                char c = **at;
                if (c == '\n')
                        c = ' ';
                if (n + 1 < CLI_FORM_MAX && !(c == ' ' && n > 0 && ret[n - 1] == ' '))
                        ret[n++] = c;
        }
        ret[n] = '\0';
        return true;
}

size_t cli_form_verb(const char *form)
{
        return strspn(form, "abcdefghijklmnopqrstuvwxyz");
}

int cli_wrong_words(const struct cli_command *c, const char *verb, struct cella_err *err)
{
        char form[CLI_FORM_MAX], verbs[16][24];
        const char *names[ARRAY_LEN(verbs)], *at = c->usage;
        size_t n = 0;
        bool known = !verb;
        while (n < ARRAY_LEN(verbs) && cli_next_form(&at, form)) {
                snprintf(verbs[n], sizeof *verbs, "%.*s", (int)cli_form_verb(form), form);
                names[n] = verbs[n];
                known |= !strcmp(verbs[n++], verb ? verb : "");
        }
        if (known) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "usage: cella %s %s", c->name, c->usage);
                return err_hint(err, "cella %s --help", c->name);
        }
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "unknown verb '%.40s' of 'cella %s'", verb, c->name);
        const char *near = parse_nearest(verb, names, n, sizeof *names);
        return near ? err_hint(err, "did you mean 'cella %s %s'?", c->name, near)
                    : err_hint(err, "cella %s --help lists them", c->name);
}

void cli_print_help(const struct cli_command *c)
{
        printf("usage: cella %s %s\n\n%s\n", c->name, c->usage, cli_summary(c));
        if (c->text)
                printf("\n%s\n", c->text);
        if (c->examples)
                printf("\nexamples:\n%s", c->examples);
        if (c->n_verbs > 0)
                printf("\nverbs:\n");
        for (size_t i = 0; i < c->n_verbs; i++)
                printf("  %-10s %-24.24s %s\n", strchr(c->verbs[i]->name, ' ') + 1, c->verbs[i]->usage,
                       c->verbs[i]->summary);
        if (c->takes_runtime)
                print_runtimes();
        if (c->n_options > 0 || c->takes_limits)
                printf("\noptions:\n");
        for (size_t i = 0; i < c->n_options; i++) {
                print_left(c->options[i].letter, c->options[i].name, c->options[i].argument);
                printf("%s\n", c->options[i].help);
        }
        if (c->takes_limits)
                printf("\nlimits (SIZE: K, M, G; TIME: ms, s, m, h), with their defaults:\n");
        for (size_t i = 0; c->takes_limits && i < limits_table_len; i++)
                print_limit(&limits_table[i], limits_table[i].help);
}
