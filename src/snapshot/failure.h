/* snapshot/failure.h -- reports uncaught exceptions as the interpreter's own main program does, which is
 * not used here. */
#pragma once

/* Handles and clears a SystemExit: prints its text, if it has one. *ret_error: an exception that this
 * caused is set, as some versions of the interpreter leave it when they begin to finalize. */
int failure_exit_code(int *ret_error);

/* Whether the source is incomplete or has unusual line ends: the interpreter reports these differently
 * when it reads a file. */
int failure_is_at_the_end(const char *code);
/* Compiles the source again from its file, and reports the error (or runs it). -1: that failed. */
int failure_from_file(const char *path);
