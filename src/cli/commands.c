/* cli/commands.c -- the names of all commands, in the order in which the help lists them. */
#include <string.h>

#include "base/auto.h"
#include "cli/cli.h"

const struct cli_name cli_names[] = {
        {"run", "run code or a command in a sandbox of its own"},
        {"serve", "run the daemon: an HTTP API, sandboxes that live on, a log"},
        {"create", "make a sandbox that stays, and print its id", .client = true},
        {"exec", "run code or a command in a sandbox of the daemon", .client = true},
        {"ls", "list the daemon's sandboxes", .client = true},
        {"ps", "list what runs in a sandbox: background processes and executions", .client = true},
        {"kill", "send a signal to a background process, or cancel an execution", .client = true},
        {"rm", "remove sandboxes, with all that runs in them", .client = true},
        {"cp", "copy a file or directory into a sandbox or out of it", .client = true},
        {"shell", "a terminal in a sandbox", .client = true},
        {"logs", "list the executions of the past, or show one whole", .client = true},
        {"settings", "show and change the daemon's settings", .client = true},
        {"key", "make, list and remove the keys of the daemon's API", .client = true},
        {"secret", "keep values that code gets as variables, by name", .client = true},
        {"image", "bring, list and remove images: root file systems for sandboxes", .client = true},
        {"scan", "say what a program's text would do: imports, network, files, processes"},
        {"mcp", "an MCP server on standard input and output, for an agent"},
        {"doctor", "show what this host can enforce, layer by layer", .client = true},
        {"bench", "latency, throughput and memory beside bare execution, in one run", .client = true},
        {"runtime", "list the runtimes of this machine and of the images", .client = true},
        {"version", "print the version"},
        {"help", "say what the commands do"},
};
const size_t cli_names_len = ARRAY_LEN(cli_names);

const struct cli_name *cli_find_name(const char *name)
{
        for (size_t i = 0; i < cli_names_len; i++)
                if (!strcmp(cli_names[i].name, name))
                        return &cli_names[i];
        return NULL;
}
