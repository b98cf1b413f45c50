/* cli/main.c -- the program `cella`. */
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

const struct cli_command *const cli_commands[] = {
        &cli_run, &cli_serve,  &cli_create, &cli_exec,     &cli_ls,      &cli_ps,     &cli_kill,  &cli_rm,
        &cli_cp,  &cli_shell,  &cli_logs,   &cli_settings, &cli_key,     &cli_secret, &cli_image, &cli_scan,
        &cli_mcp, &cli_doctor, &cli_bench,  &cli_runtime,  &cli_version, &cli_help};
const size_t cli_commands_len = ARRAY_LEN(cli_commands);

static const struct cli_command *find(const char *name)
{
        for (size_t i = 0; i < cli_commands_len; i++)
                if (!strcmp(cli_commands[i]->name, name))
                        return cli_commands[i];
        return NULL;
}

static int unknown(const char *name)
{
        const char *names[ARRAY_LEN(cli_commands)];
        struct cella_err err = {0};
        for (size_t i = 0; i < cli_commands_len; i++)
                names[i] = cli_commands[i]->name;
        err_say(&err, CELLA_INVALID_REQUEST, -1, "unknown command '%.40s'", name);
        const char *near = parse_nearest(name, names, cli_commands_len, sizeof *names);
        if (near)
                err_hint(&err, "did you mean 'cella %s'?", near);
        else
                err_hint(&err, "cella help lists the commands");
        return cli_fail(&err, EXIT_USAGE);
}

static int help_main(const struct cli_command *self, int argc, char **argv)
{
        (void)self;
        if (argc > 1) {
                const struct cli_command *c = find(argv[1]);
                if (!c)
                        return unknown(argv[1]);
                cli_print_help(c);
                return 0;
        }
        printf("cella runs untrusted code in a sandbox on this machine.\n\n"
               "  cella run python3 -c 'print(6*7)'\n\ncommands:\n");
        for (size_t i = 0; i < cli_commands_len; i++)
                printf("  %-10s %s\n", cli_commands[i]->name, cli_commands[i]->summary);
        printf("\ncella COMMAND --help tells more; see also cella(1).\n");
        return 0;
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

const struct cli_command cli_help = {
        .name = "help", .usage = "[COMMAND]", .summary = "say what the commands do", .main = help_main};
const struct cli_command cli_version = {
        .name = "version", .usage = "", .summary = "print the version", .main = version_main};

/* A caller may have closed any of 0 to 2.  What is opened next would take its place, and
 * then get the code's output. */
static void fill_standard(void)
{
        int fd;
        do {
                fd = open("/dev/null", O_RDWR);
        } while (fd >= 0 && fd <= STDERR_FILENO);
        if (fd >= 0)
                close(fd);
}

int main(int argc, char **argv)
{
        fill_standard();
        signal(SIGCHLD, SIG_DFL); /* may be ignored by who started us */
        signal(SIGPIPE, SIG_IGN); /* a reader that leaves must not leave a sandbox behind */
        if (argc < 2) {
                help_main(&cli_help, 1, argv);
                return EXIT_USAGE;
        }
        if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
                return help_main(&cli_help, 1, argv);
        if (!strcmp(argv[1], "--version"))
                return version_main(&cli_version, 1, argv);
        const struct cli_command *c = find(argv[1]);
        int status = c ? c->main(c, argc - 1, argv + 1) : unknown(argv[1]);
        /* What nobody got was not said. */
        if (fflush(stdout) != 0 || ferror(stdout)) {
                struct cella_err err = {0};
                err_set(&err, CELLA_INTERNAL, -errno, "cannot write to standard output");
                return cli_fail(&err, EXIT_CELLA);
        }
        return status;
}
