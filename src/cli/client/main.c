/* cli/client/main.c -- the program `cella-client`: the commands that talk to the daemon or read archives.
 * `cella` executes it with its own arguments. */
#include "base/auto.h"
#include "base/foreign_json.h"
#include "cli/cli.h"

int main(int argc, char **argv)
{
        static const struct cli_command *const commands[] = {
                &cli_create, &cli_exec,    &cli_ls,       &cli_ps,   &cli_kill,   &cli_rm,    &cli_cp,
                &cli_shell,  &cli_logs,    &cli_settings, &cli_key,  &cli_secret, &cli_image, &cli_doctor,
                &cli_bench,  &cli_runtime, &cli_raise,    &cli_pool, &cli_top};
        foreign_json_init(NULL);
        return cli_main(commands, ARRAY_LEN(commands), argc, argv);
}
