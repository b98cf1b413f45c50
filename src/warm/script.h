/* warm/script.h -- the file that the interpreter takes its code to be from.
 *
 * Plain code cannot see its own file; but the interpreter looks at it, to show a line of it with an error or
 * a warning.  So it is written when somebody looks: a file less to make and to tell of. */
#pragma once
#include <stddef.h>

/* later: when somebody looks at it.  Borrows both strings then.  -1: it cannot be written. */
int script_give(const char *path, const char *code, size_t length, int later);

/* Called before a file is opened as a stream: what loads us says what to do when it is the script. */
void script_wanted(const char *path);
