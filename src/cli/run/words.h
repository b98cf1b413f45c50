/* cli/run/words.h -- parses the command or code to run, for `cella run` and `cella exec`. */
#pragma once
#include <stdbool.h>

#include "cella.h"

/* RUNTIME -c CODE [ARG...] | RUNTIME FILE [ARG...] | -- COMMAND [ARG...].  Sets argv, runtime, code and
 * file_name; stdin_fd becomes -1 if standard input contained the code.  *ret_code is the contents of a file,
 * which the caller frees; command is for messages.  may_be_alone: there is a terminal, and RUNTIME alone,
 * without code, is an interpreter that reads commands from it. */
int words_take(struct cella_command *c, char **ret_code, const char *command, bool may_be_alone, int argc,
               char **argv, struct cella_err *err);
