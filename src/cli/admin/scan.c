/* cli/admin/scan.c -- `cella scan FILE`: reports what the program in a file would do.
 *
 * The parsers are in cella-server: this opens the file as standard input and executes it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/cli.h"
#include "cli/program.h"
#include "sys/file.h"

struct scan_options {
        const char *language;
        struct cli_list allow;
        bool json;
};

static const struct cli_option options[] = {
        {"language", "NAME", "python, bash or javascript (by the file's name or its first line)",
         CLI_INTO(CLI_TEXT, struct scan_options, language)},
        {"allow", "MODULE", "an allowed import; all others are refused; may be repeated",
         CLI_INTO(CLI_LIST, struct scan_options, allow)},
        {"json", NULL, "print the whole report as JSON", CLI_INTO(CLI_FLAG, struct scan_options, json)},
};

static int become_scanner(const struct scan_options *o, const char *path, struct cella_err *err)
{
        char program[PROGRAM_SIZE], *argv[CLI_LIST_MAX * 2 + 10];
        int n = 0, r = program_find("cella-server", program, err);
        if (r < 0)
                return r;
        if (strcmp(path, "-") != 0) {
                int fd = sys_openat(AT_FDCWD, path, O_RDONLY, 0);
                if (fd < 0)
                        return err_set(err, CELLA_INVALID_REQUEST, fd, "cannot read '%.120s'", path);
                if (dup2(fd, STDIN_FILENO) < 0)
                        return err_set(err, CELLA_INTERNAL, -errno, "cannot use '%.120s' as standard input",
                                       path);
                sys_close(fd);
        }
        argv[n++] = "cella-server";
        argv[n++] = "--scan";
        argv[n++] = "--name", argv[n++] = (char *)path;
        if (o->language)
                argv[n++] = "--language", argv[n++] = (char *)o->language;
        if (o->json)
                argv[n++] = "--json";
        for (size_t i = 0; i < o->allow.n; i++)
                argv[n++] = "--allow", argv[n++] = (char *)o->allow.items[i];
        argv[n] = NULL;
        fflush(stdout);
        execv(program, argv);
        return err_set(err, CELLA_INTERNAL, -errno, "cannot start %.120s", program);
}

static int scan_main(const struct cli_command *self, int argc, char **argv)
{
        struct scan_options o = {0};
        struct cella_err err = {0};
        int r = cli_parse_all(self, argc, argv, &o, NULL, &err);
        if (r >= 0 && r != 1)
                r = err_say(&err, CELLA_INVALID_REQUEST, -EINVAL,
                            "usage: cella scan FILE (-: standard input)");
        if (r >= 0)
                r = become_scanner(&o, argv[1], &err);
        return cli_finish(r, &err, o.json);
}

const struct cli_command cli_scan = {
        .name = "scan",
        .usage = "[OPTIONS] FILE",
        .text = "The result is advice, not a security boundary: the sandbox is the boundary.\n"
                "The exit status is 1 if there is a finding of severity medium or high, else 0.",
        .examples = "  cella scan app.py\n"
                    "  cella scan --language bash - <install.sh\n",
        .options = options,
        .n_options = ARRAY_LEN(options),
        .main = scan_main,
};
