/* cli/run/words.h -- parses the command or code to run, for `cella run` and `cella exec`. */
#pragma once
#include <limits.h>
#include <stdbool.h>

#include "cella.h"

struct words {
        const char *command;   /* its name, for messages */
        bool may_be_alone;     /* there is a terminal: RUNTIME alone reads commands from it */
        const char *workspace; /* a directory of the host that is /workspace; NULL: none */
        /* Filled by words_take(): */
        char *code;            /* contents of a file; owned by the caller */
        const char *file;      /* its path; NULL: none, or it is used in the workspace */
        char inside[PATH_MAX]; /* the path of a file in the sandbox */
        char runtime[64];      /* guessed from a file */
};

/* RUNTIME -c CODE [ARG...] | [RUNTIME] FILE [ARG...] | RUNTIME | -- COMMAND [ARG...].  Sets argv, runtime,
 * code or code_file, and file_name; stdin_fd becomes -1 if standard input contained the code.  A file that is
 * in the workspace is not copied, so that it finds the files beside it. */
int words_take(struct cella_command *c, struct words *words, int argc, char **argv, struct cella_err *err);
