/* cli/main.c -- the program `cella`: the commands that need no daemon, and the privileged process of the
 * daemon. It contains no HTTP client and reads no archive; the commands that do are in cella-client. */
#include "base/auto.h"
#include "cli/cli.h"

int main(int argc, char **argv)
{
        static const struct cli_command *const commands[] = {&cli_run, &cli_serve,  &cli_scan,
                                                             &cli_mcp, &cli_backup, &cli_restore};
        return cli_main(commands, ARRAY_LEN(commands), argc, argv);
}
