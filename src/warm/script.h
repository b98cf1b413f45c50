/* warm/script.h -- the file that the interpreter takes its code to be from.
 *
 * Plain code cannot see its own file; but the interpreter looks at it, to show a line of it with an error or
 * a warning.  So it is written when somebody looks: a file less to make and to tell of. */
#pragma once
#include <stddef.h>

/* later: when somebody looks at it, or at the directory where modules are looked for first.  Borrows all
 * strings then.  -1: it cannot be written. */
int script_give(const char *path, const char *directory, const char *code, size_t length, int later);

/* Called when modules are looked for there: what is found may be anybody's, and do anything.  Only where
 * the script was to be written later. */
void script_searched(void);

/* Called before a file is opened as a stream: what loads us says what to do when it is the script. */
void script_wanted(const char *path);
