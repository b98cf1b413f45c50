/* cli/cli.h -- what the commands share. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cella.h"

enum {
        EXIT_USAGE = 2,
        EXIT_TIMEOUT = 124,
        EXIT_CELLA = 125, /* Cella itself failed */
        EXIT_MEMORY = 137,
};

struct cli_option {
        const char *name;     /* without the dashes */
        const char *argument; /* what it takes, for the help; NULL: nothing */
        const char *help;
        /* Puts value (NULL without an argument) into the command's own struct. */
        int (*set)(void *target, const char *value, struct cella_err *err);
};

struct cli_command {
        const char *name;
        const char *usage;   /* after "cella NAME " */
        const char *summary; /* one line */
        const char *text;    /* more; may be NULL */
        const struct cli_option *options;
        size_t n_options;
        bool takes_limits; /* the options of base/limits.c, into a struct cella_options */
        int (*main)(const struct cli_command *self, int argc, char **argv);
};

extern const struct cli_command cli_run, cli_doctor, cli_runtime, cli_version, cli_help;
extern const struct cli_command *const cli_commands[];
extern const size_t cli_commands_len;

/* Reads options up to the first other word and returns its index; argv[0] is the
 * command's name.  -errno with *err set, or CLI_HELP when --help was given and printed. */
#define CLI_HELP (-1000)
int cli_parse(const struct cli_command *command, int argc, char **argv, void *target,
              struct cella_options *options, struct cella_err *err);

void cli_print_help(const struct cli_command *command);

/* Whether stderr takes a line now: a reader that went to sleep must not hold us with it. */
bool cli_stderr_ready(void);

/* "cella: message" and the hint, on stderr, with colour on a terminal.  Returns status. */
int cli_fail(const struct cella_err *err, int status);
