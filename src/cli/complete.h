/* cli/complete.h -- `cella completion`: completion of the command line, from the option tables. */
#pragma once
#include "cli/cli.h"

/* Prints the words that can follow, each with a tab and its help: without a command the names of all
 * commands, otherwise the verbs and options of the command. */
void complete_words(const struct cli_command *command);

/* Prints the script for a shell; it asks `cella completion words`.  Sets *err if it returns -errno. */
int complete_script(const char *shell, struct cella_err *err);
