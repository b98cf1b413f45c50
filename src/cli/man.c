/* cli/man.c -- the manual page of a command, from its option table. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/limits.h"
#include "base/runtime.h"
#include "cli/cli.h"

/* Prints text that must not be read as requests of roff. */
static void man_put(const char *text, size_t len)
{
        for (size_t i = 0; i < len; i++)
                if (text[i] == '-')
                        printf("\\-");
                else if (text[i] == '\\')
                        printf("\\e");
                else if (i == 0 && (text[i] == '.' || text[i] == '\''))
                        printf("\\&%c", text[i]);
                else
                        putchar(text[i]);
}

static void man_say(const char *text)
{
        man_put(text, strlen(text));
}

/* A line that begins with spaces begins a new line on the page, too; an empty line begins a paragraph. */
static void man_paragraphs(const char *text)
{
        while (*text) {
                const size_t len = strcspn(text, "\n"), blanks = strspn(text, " ");
                if (len == 0)
                        printf(".PP");
                else if (blanks > 0)
                        printf(".br\n");
                man_put(text + (blanks < len ? blanks : 0), len - (blanks < len ? blanks : 0));
                putchar('\n');
                text += len + (text[len] == '\n');
        }
}

static void man_command(const struct cli_command *c, const char *before)
{
        printf("\\fBcella ");
        man_say(c->name);
        printf("\\fR %s", before);
}

static void man_synopsis(const struct cli_command *c)
{
        static const char options[] = "[OPTIONS] ";
        char form[CLI_FORM_MAX];
        const char *at = c->usage;
        const bool everywhere = !strncmp(at, options, sizeof options - 1);
        bool first = true;
        printf(".nf\n");
        while (cli_next_form(&at, form)) {
                man_command(c, first || !everywhere ? "" : options);
                man_say(form);
                putchar('\n');
                first = false;
        }
        if (first) {
                man_command(c, "");
                putchar('\n');
        }
        printf(".fi\n");
}

static void man_option(char letter, const char *name, const char *argument, const char *help)
{
        printf(".TP\n");
        if (letter)
                printf("\\fB\\-%c\\fR, ", letter);
        printf("\\fB\\-\\-");
        man_say(name);
        printf("\\fR");
        if (argument) {
                printf(" \\fI");
                man_say(argument);
                printf("\\fR");
        }
        printf("\n%c", help[0] >= 'a' && help[0] <= 'z' ? help[0] - 'a' + 'A' : help[0]);
        man_say(help + 1);
        printf(".\n");
}

static void man_options(const struct cli_command *c)
{
        for (size_t i = 0; i < c->n_options; i++)
                man_option(c->options[i].letter, c->options[i].name, c->options[i].argument,
                           c->options[i].help);
        printf(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nShow the help.\n");
}

static void man_limits(void)
{
        printf(".SH LIMITS\nA SIZE takes the units K, M, G and T (powers of 1024), a TIME ms, s, m and h.\n");
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                char standard[32] = "none", min[32], max[32];
                if (l->standard)
                        limit_write(l, l->standard, standard, sizeof standard);
                limit_write(l, l->min, min, sizeof min);
                limit_write(l, l->max, max, sizeof max);
                man_option(cli_limit_letter(l), l->option, cli_units[l->unit], l->help);
                printf("From %s to %s; the default is %s.\n", min, max, standard);
        }
}

static void man_examples(const char *lines)
{
        printf(".SH EXAMPLES\n.nf\n");
        while (*lines) {
                const size_t len = strcspn(lines, "\n"), blanks = strspn(lines, " ");
                man_put(lines + blanks, len - blanks);
                putchar('\n');
                lines += len + (lines[len] == '\n');
        }
        printf(".fi\n");
}

static void man_verbs(const struct cli_command *c)
{
        for (size_t i = 0; i < c->n_verbs; i++) {
                const struct cli_command *verb = c->verbs[i];
                printf(".SH \"");
                man_say(verb->name);
                printf("\"\n");
                man_synopsis(verb);
                printf(".PP\n");
                man_paragraphs(verb->summary);
                if (verb->text)
                        man_paragraphs(verb->text);
                man_options(verb);
        }
}

void cli_print_man(const struct cli_command *c)
{
        printf(".TH CELLA\\-");
        for (const char *at = c->name; *at; at++)
                putchar(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
        printf(" 1 \"\" \"cella %s\" \"User Commands\"\n.SH NAME\ncella\\-", CELLA_VERSION);
        man_say(c->name);
        printf(" \\- ");
        man_say(cli_summary(c));
        printf("\n.SH SYNOPSIS\n");
        man_synopsis(c);
        if (c->text) {
                printf(".SH DESCRIPTION\n");
                man_paragraphs(c->text);
        }
        if (c->n_options > 0) {
                printf(".SH OPTIONS\n");
                man_options(c);
        }
        if (c->takes_limits)
                man_limits();
        man_verbs(c);
        if (c->takes_runtime) {
                printf(".SH RUNTIMES\nA version may follow the name: python3.12, node22, c++20.\n.PP\n");
                for (size_t i = 0; i < runtimes_len; i++)
                        printf("%s%s", i ? ", " : "", runtimes[i].name);
                putchar('\n');
        }
        if (c->examples)
                man_examples(c->examples);
}
