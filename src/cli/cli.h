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

/* Where an option without a function of its own goes: a field of the command's struct. */
enum cli_field {
        CLI_FLAG,  /* bool */
        CLI_TEXT,  /* const char * */
        CLI_TIME,  /* uint64_t, milliseconds, more than 0 */
        CLI_COUNT, /* uint64_t, more than 0 */
        CLI_SIZE,  /* uint64_t, bytes, more than 0 */
        CLI_LIST,  /* struct cli_list: may be given again */
};

#define CLI_LIST_MAX 256
struct cli_list {
        const char *items[CLI_LIST_MAX + 1]; /* NULL-terminated */
        size_t n;
};

struct cli_option {
        const char *name;     /* without the dashes */
        const char *argument; /* what it takes, for the help; NULL: nothing */
        const char *help;
        /* Puts value (NULL without an argument) into the command's own struct; or NULL: */
        int (*set)(void *target, const char *value, struct cella_err *err);
        enum cli_field field;
        size_t offset;
};

#define CLI_INTO(kind, type, member) NULL, kind, offsetof(type, member)

struct cli_command {
        const char *name;
        const char *usage;   /* after "cella NAME " */
        const char *summary; /* one line; NULL: that of cli_names */
        const char *text;    /* more; may be NULL */
        const struct cli_option *options;
        size_t n_options;
        bool takes_limits; /* the options of base/limits.c, into a struct cella_options */
        int (*main)(const struct cli_command *self, int argc, char **argv);
};

/* All commands by name.  Those with `client` are in the program cella-client, all others in cella. */
struct cli_name {
        const char *name;
        const char *summary; /* one line */
        bool client;
};
extern const struct cli_name cli_names[];
extern const size_t cli_names_len;
const struct cli_name *cli_find_name(const char *name); /* NULL: there is no such command */

/* In cella: */
extern const struct cli_command cli_run, cli_serve, cli_scan, cli_mcp;
/* In cella-client: */
extern const struct cli_command cli_create, cli_exec, cli_ls, cli_ps, cli_kill, cli_rm, cli_cp, cli_shell,
        cli_logs, cli_settings, cli_key, cli_secret, cli_image, cli_doctor, cli_bench, cli_runtime;

/* The main function of cella and of cella-client, with the commands that the program contains.  Returns the
 * exit status.  `cella` executes cella-client for a command that is there. */
int cli_main(const struct cli_command *const *commands, size_t n_commands, int argc, char **argv);

/* Reads options up to the first other word and returns its index; argv[0] is the
 * command's name.  -errno with *err set, or CLI_HELP when --help was given and printed. */
#define CLI_HELP (-1000)
int cli_parse(const struct cli_command *command, int argc, char **argv, void *target,
              struct cella_options *options, struct cella_err *err);

/* The same for a command whose options may stand anywhere among its words, which are put at
 * the front of argv[1...]; how many there are is returned.  After "--" nothing is an option. */
int cli_parse_all(const struct cli_command *command, int argc, char **argv, void *target,
                  struct cella_options *options, struct cella_err *err);

void cli_print_help(const struct cli_command *command);

/* Whether stderr takes a line now: a reader that went to sleep must not hold us with it. */
bool cli_stderr_ready(void);

/* "cella: message" and the hint, on stderr, with colour on a terminal.  Returns status. */
int cli_fail(const struct cella_err *err, int status);

/* Prints an error as JSON on stdout, in the form of the HTTP API. */
void cli_print_error(const struct cella_err *err);

/* The end of a command: r is its exit status, CLI_HELP, or -errno with *err set, which is told (as
 * JSON on stdout too, if asked for).  A request that was wrong is EXIT_USAGE, all else EXIT_CELLA. */
int cli_finish(int r, const struct cella_err *err, bool json);

/* On a signal that ends the program: cleanup (which may do only what a handler may), then exit
 * with 128+N.  One that is ignored stays so.  NULL: none. */
void cli_on_signal(void (*cleanup)(void));
