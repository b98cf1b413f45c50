/* cli/run/words.h -- what to run, as `cella run` and `cella exec` take it. */
#pragma once
#include "cella.h"

/* RUNTIME -c CODE [ARG...] | RUNTIME FILE [ARG...] | -- COMMAND [ARG...].  Fills in argv, runtime, code
 * and file_name; stdin_fd becomes -1 where standard input was the code.  *ret_code is what was
 * read from a file, for the caller to free; command is for messages. */
int words_take(struct cella_command *c, char **ret_code, const char *command, int argc, char **argv,
               struct cella_err *err);
