/* cli/start.c -- shared by the main functions of cella and cella-client. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "cli/complete.h"
#include "cli/program.h"

struct program {
        const struct cli_command *const *commands;
        size_t n_commands;
        char **argv;
};

static int unknown_command(const char *name)
{
        struct cella_err err = {0};
        err_say(&err, CELLA_INVALID_REQUEST, -1, "unknown command '%.40s'", name);
        const char *near = parse_nearest(name, &cli_names[0].name, cli_names_len, sizeof cli_names[0]);
        if (near)
                err_hint(&err, "did you mean 'cella %s'?", near);
        else
                err_hint(&err, "cella help lists the commands");
        return cli_fail(&err, EXIT_USAGE);
}

/* Returns only on failure. */
static int become_client(char **argv)
{
        struct cella_err err = {0};
        char path[PROGRAM_SIZE];
        int r = program_find("cella-client", path, &err);
        if (r == 0) {
                execv(path, argv);
                err_set(&err, CELLA_INTERNAL, -errno, "cannot start %.120s", path);
        }
        return cli_fail(&err, EXIT_CELLA);
}

/* Returns NULL with *ret_status set if the command is not in this program and could not be started. */
static const struct cli_command *find_command(const struct program *p, const char *name, int *ret_status)
{
        for (size_t i = 0; i < p->n_commands; i++)
                if (!strcmp(p->commands[i]->name, name))
                        return p->commands[i];
        const struct cli_name *named = cli_find_name(name);
        *ret_status = named && named->client ? become_client(p->argv) : unknown_command(name);
        return NULL;
}

static void list_commands(void)
{
        printf("cella runs untrusted code in a sandbox on this machine.\n\n"
               "  cella run python3 -c 'print(6*7)'\n\ncommands:\n");
        for (size_t i = 0; i < cli_names_len; i++)
                printf("  %-10s %s\n", cli_names[i].name, cli_names[i].summary);
        printf("\ncella COMMAND --help shows more; see also cella(1).\n");
}

static int version_main(const struct cli_command *self, int argc, char **argv)
{
        struct cella_err err = {0};
        int r = cli_parse(self, argc, argv, NULL, NULL, &err);
        if (r == CLI_HELP)
                return 0;
        if (r < 0)
                return cli_fail(&err, EXIT_USAGE);
        printf("cella %s\n", CELLA_VERSION);
        return 0;
}

struct help_options {
        bool man;
};

static const struct cli_option help_options[] = {
        {"man", NULL, "print it as a manual page", CLI_INTO(CLI_FLAG, struct help_options, man)},
};

/* The commands that both programs have. */
static const struct cli_command own_commands[] = {
        {.name = "completion",
         .usage = "bash | zsh | fish",
         .text = "Prints a script that completes commands and options.  ./dev install puts it where the "
                 "shells\n"
                 "look for it.  Otherwise put one of these lines into the file of your shell:",
         .examples = "  source <(cella completion bash)      # ~/.bashrc\n"
                     "  source <(cella completion zsh)       # ~/.zshrc, after compinit\n"
                     "  cella completion fish | source       # ~/.config/fish/config.fish\n"},
        {.name = "help",
         .usage = "[--man] [COMMAND]",
         .examples = "  cella help run\n"
                     "  cella help --man run | man -l -\n",
         .options = help_options,
         .n_options = ARRAY_LEN(help_options)},
        {.name = "version", .usage = "", .examples = "  cella version\n", .main = version_main},
};

static const struct cli_command *find_own(const char *name)
{
        for (size_t i = 0; i < ARRAY_LEN(own_commands); i++)
                if (!strcmp(own_commands[i].name, name))
                        return &own_commands[i];
        return NULL;
}

static const struct cli_command *find_any(const struct program *p, const char *name, int *ret_status)
{
        const struct cli_command *c = find_own(name);
        return c ? c : find_command(p, name, ret_status);
}

static int help(const struct program *p, int argc)
{
        struct help_options o = {0};
        struct cella_err err = {0};
        int status = 0, r = cli_parse(find_own("help"), argc - 1, p->argv + 1, &o, NULL, &err);
        if (r < 0)
                return cli_finish(r, &err, false);
        if (r == argc - 1) {
                list_commands();
                return 0;
        }
        const struct cli_command *c = find_any(p, p->argv[1 + r], &status);
        if (c && o.man)
                cli_print_man(c);
        else if (c)
                cli_print_help(c);
        return status;
}

static int completion(const struct program *p, int argc)
{
        const struct cli_command *self = find_own("completion");
        struct cella_err err = {0};
        int status = 0, r = cli_parse(self, argc - 1, p->argv + 1, NULL, NULL, &err);
        if (r < 0)
                return cli_finish(r, &err, false);
        if (argc < 3)
                return cli_finish(err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "usage: cella completion %s",
                                          self->usage),
                                  &err, false);
        if (strcmp(p->argv[2], "words") != 0)
                return cli_finish(complete_script(p->argv[2], &err), &err, false);
        const struct cli_command *c = argc > 3 ? find_any(p, p->argv[3], &status) : NULL;
        for (size_t i = 0; c && argc > 4 && i < c->n_verbs; i++)
                if (!strcmp(strchr(c->verbs[i]->name, ' ') + 1, p->argv[4])) {
                        c = c->verbs[i];
                        break;
                }
        if (c || argc == 3)
                complete_words(c);
        return status;
}

static int cli_start_program(const struct program *p, int argc)
{
        char **argv = p->argv;
        int status = 0;
        if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
                list_commands();
                return argc < 2 ? EXIT_USAGE : 0;
        }
        if (!strcmp(argv[1], "help"))
                return help(p, argc);
        if (!strcmp(argv[1], "completion"))
                return completion(p, argc);
        if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
                return version_main(find_own("version"), 1, argv);
        const struct cli_command *c = find_any(p, argv[1], &status);
        return c ? c->main(c, argc - 1, argv + 1) : status;
}

/* The caller may have closed any of the descriptors 0 to 2.  The next file that is opened would take the
 * number, and then receive output that is not for it. */
static void fill_standard(void)
{
        int fd;
        do {
                fd = open("/dev/null", O_RDWR);
        } while (fd >= 0 && fd <= STDERR_FILENO);
        if (fd >= 0)
                close(fd);
}

int cli_main(const struct cli_command *const *commands, size_t n_commands, int argc, char **argv)
{
        const struct program program = {commands, n_commands, argv};
        fill_standard();
        signal(SIGCHLD, SIG_DFL); /* the caller may have set it to be ignored */
        signal(SIGPIPE, SIG_IGN); /* if a reader closes our output, the sandbox must still be deleted */
        int status = cli_start_program(&program, argc);
        /* A failed flush is an error. */
        if (fflush(stdout) != 0 || ferror(stdout)) {
                struct cella_err err = {0};
                err_set(&err, CELLA_INTERNAL, -errno, "cannot write to standard output");
                return cli_fail(&err, EXIT_CELLA);
        }
        return status;
}
