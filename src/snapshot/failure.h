/* snapshot/failure.h -- what the interpreter does about an exception that nobody caught, where it is told by
 * another part of it than the one that we have called. */
#pragma once

/* Of a SystemExit, which is cleared: prints its text, if it has one.  *ret_error: an exception that this
 * caused is set, as some versions of the interpreter leave it when they begin to finalize. */
int failure_exit_code(int *ret_error);

/* What is cut off, or has other ends of lines, is complained of in other words when it is read from a file.
 */
int failure_is_at_the_end(const char *code);
/* Reads it from there, in the place of what was complained of, and complains (or runs it).  -1: that failed.
 */
int failure_from_file(const char *path);
