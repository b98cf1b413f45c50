/* cli/runtime.c -- `cella runtime ls`: what a sandbox finds of the known runtimes. */
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "cli/cli.h"
#include "engine/runtime.h"

/* Asks inside a sandbox, because its PATH and its view decide, not ours. */
static const char script[] =
        "for p; do\n"
        "  w=$(command -v -- \"$p\") || continue\n"
        "  case $p in go) o=version;; *) o=--version;; esac\n"
        "  v=$(\"$w\" $o </dev/null 2>&1) || v=\n"
        "  printf '%s\\t%s\\t%s\\n' \"$p\" \"$w\" \"$(printf '%s' \"$v\" | sed -n '/[0-9]/{p;q;}')\"\n"
        "done\n";

static int runtime_main(const struct cli_command *self, int argc, char **argv)
{
        struct cella_err err = {0};
        struct cella_options options;
        struct cella_sandbox *sandbox = NULL;
        struct cella_result result;
        const char *names[64] = {"sh"};
        size_t n = 1;
        int r = cli_parse(self, argc, argv, NULL, NULL, &err);
        if (r == CLI_HELP)
                return 0;
        if (r >= 0 && (argc - r != 1 || strcmp(argv[r], "ls") != 0))
                r = err_say(&err, CELLA_INVALID_REQUEST, -1, "say: cella runtime ls");
        if (r < 0)
                return cli_fail(&err, EXIT_USAGE);
        for (size_t i = 0; i < runtimes_len && n < ARRAY_LEN(names) - 1; i++)
                if (!strcmp(runtimes[i].name, runtimes[i].program))
                        names[n++] = runtimes[i].name;
        cella_options_default(&options);
        const struct cella_command command = {
                .runtime = "sh",
                .code = script,
                .code_len = strlen(script),
                .argv = names,
                .stdin_fd = -1,
                .cancel_fd = -1,
        };
        r = cella_sandbox_new(&options, &sandbox, &err);
        if (r == 0)
                r = cella_run(sandbox, &command, &result, &err);
        if (r == 0) {
                fwrite(result.output[CELLA_STDOUT], 1, result.output_len[CELLA_STDOUT], stdout);
                cella_result_done(&result);
        }
        cella_sandbox_free(sandbox);
        return r < 0 ? cli_fail(&err, EXIT_CELLA) : 0;
}

const struct cli_command cli_runtime = {
        .name = "runtime",
        .usage = "ls",
        .summary = "list the runtimes that a sandbox of this machine has",
        .main = runtime_main,
};
