/* cli/cli.h -- shared by all commands. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cella.h"

struct limit; /* base/limits.h */

enum {
        EXIT_USAGE = 2,
        EXIT_TIMEOUT = 124,
        EXIT_CELLA = 125,   /* Cella itself failed */
        EXIT_MISSING = 127, /* the command does not exist in the sandbox */
        EXIT_MEMORY = 137,
};

/* Type of the field in the command's struct that an option without its own function sets. */
enum cli_field {
        CLI_FLAG,  /* bool */
        CLI_TEXT,  /* const char * */
        CLI_TIME,  /* uint64_t, milliseconds, more than 0 */
        CLI_COUNT, /* uint64_t, more than 0 */
        CLI_SIZE,  /* uint64_t, bytes, more than 0 */
        CLI_LIST,  /* struct cli_list: may be repeated */
};

#define CLI_LIST_MAX 256
struct cli_list {
        const char *items[CLI_LIST_MAX + 1]; /* NULL-terminated */
        size_t n;
};

struct cli_option {
        const char *name;     /* without the dashes */
        const char *argument; /* name of its argument for the help; NULL: none */
        const char *help;
        /* Stores value (NULL without an argument) in the command's own struct; or NULL: */
        int (*set)(void *target, const char *value, struct cella_err *err);
        enum cli_field field;
        size_t offset;
        char letter; /* short form; 0: none */
        bool rare;   /* only `cella help COMMAND` explains it */
};

#define CLI_INTO(kind, type, member) NULL, kind, offsetof(type, member)

struct cli_command {
        const char *name;
        const char *usage;   /* after "cella NAME " */
        const char *summary; /* one line; NULL: that of cli_names */
        const char *text;    /* further text; may be NULL */
        const struct cli_option *options;
        size_t n_options;
        const char *examples; /* lines that begin with two spaces */
        /* If it is set, --help prints this line, the examples and the options that are not rare: */
        const char *short_usage;
        /* The commands of which the first word is a part ("image pull"); they are in the same program. */
        const struct cli_command *const *verbs;
        size_t n_verbs;
        bool takes_limits;  /* accepts the options of base/limits.c, in a struct cella_options */
        bool takes_runtime; /* its help lists the runtimes */
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
extern const struct cli_command cli_run, cli_serve, cli_scan, cli_mcp, cli_backup, cli_restore;
/* In cella-client: */
extern const struct cli_command cli_create, cli_exec, cli_ls, cli_ps, cli_kill, cli_rm, cli_cp, cli_shell,
        cli_logs, cli_settings, cli_key, cli_secret, cli_image, cli_doctor, cli_bench, cli_runtime, cli_raise,
        cli_pool, cli_top;

/* The main function of cella and of cella-client, with the commands that the program contains.  Returns the
 * exit status.  `cella` executes cella-client for a command that is there. */
int cli_main(const struct cli_command *const *commands, size_t n_commands, int argc, char **argv);

/* Parses options up to the first other word and returns its index; argv[0] is the command's name.  Returns
 * -errno with *err set, or CLI_HELP if --help was given and printed. */
#define CLI_HELP (-1000)
int cli_parse(const struct cli_command *command, int argc, char **argv, void *target,
              struct cella_options *options, struct cella_err *err);

/* The same for a command that accepts options between its words. The words are moved to the front of
 * argv[1...]; returns their number.  After "--" nothing is an option. */
int cli_parse_all(const struct cli_command *command, int argc, char **argv, void *target,
                  struct cella_options *options, struct cella_err *err);

/* What the help calls the value of a limit, by its enum limit_unit. */
extern const char *const cli_units[];

/* Explains all options; the short help: those that are often used. */
void cli_print_help(const struct cli_command *command);
void cli_print_short_help(const struct cli_command *command);
/* The same as a page for man(1). */
void cli_print_man(const struct cli_command *command);

/* What --help says in one line. */
const char *cli_summary(const struct cli_command *command);

/* The letter of the short form of a limit; 0: it has none. */
char cli_limit_letter(const struct limit *limit);

/* A usage has several forms, separated by " | ".  Copies the form at *at, with single spaces, and moves *at
 * to the next one.  Returns false at the end. */
#define CLI_FORM_MAX 160
bool cli_next_form(const char **at, char ret[CLI_FORM_MAX]);
/* The length of the verb with which a form begins ("rm NAME"); 0: it begins with no verb. */
size_t cli_form_verb(const char *form);
/* Fails with the usage of the command, or if verb is not one of those in it, with the nearest one.  verb
 * NULL: there is none. */
int cli_wrong_words(const struct cli_command *command, const char *verb, struct cella_err *err);

/* Without it, commands also print notes: progress, limits that ended code, hints. */
#define CLI_QUIET_OPTION                                                                                     \
        {                                                                                                    \
                "quiet", NULL, "print only results and errors", cli_set_quiet, .letter = 'q', .rare = true   \
        }
int cli_set_quiet(void *target, const char *value, struct cella_err *err);
/* Returns whether a note may be printed now: see also cli_stderr_ready(). */
bool cli_may_note(void);

/* Returns whether a line can be written to stderr without blocking: a stopped reader must not block this
 * process. */
bool cli_stderr_ready(void);

/* Prints "cella: message" and the hint to stderr, with colour on a terminal.  Returns status. */
int cli_fail(const struct cella_err *err, int status);

/* Prints an error as JSON on stdout, in the form of the HTTP API. */
void cli_print_error(const struct cella_err *err);

/* Returns the exit status for an error: EXIT_USAGE for an invalid request, EXIT_MISSING for a command that
 * does not exist, EXIT_CELLA for any other error. */
int cli_error_status(const struct cella_err *err);

/* Returns the exit status of a command: r is its exit status, CLI_HELP, or -errno with *err set, which is
 * printed (also as JSON on stdout, if requested): see cli_error_status(). */
int cli_finish(int r, const struct cella_err *err, bool json);

/* Sets a function that a signal that ends the program calls before the exit with 128+N; it must be safe in a
 * signal handler.  Ignored signals stay ignored.  NULL: none. */
void cli_on_signal(void (*cleanup)(void));
