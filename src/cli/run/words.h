/* cli/run/words.h -- parses the command or code to run, for `cella run` and `cella exec`. */
#pragma once
#include "cella.h"

/* RUNTIME -c CODE [ARG...] | RUNTIME FILE [ARG...] | -- COMMAND [ARG...].  Sets argv, runtime, code and
 * file_name; stdin_fd becomes -1 if standard input contained the code.  *ret_code is the contents of a file,
 * which the caller frees; command is for messages. */
int words_take(struct cella_command *c, char **ret_code, const char *command, int argc, char **argv,
               struct cella_err *err);
