/* cli/terminal.h -- the terminal of the user: in raw mode while a terminal in a sandbox is shown on it.
 *
 * Invariant: it is restored, however the program ends, except by SIGKILL. */
#pragma once
#include <stdbool.h>

/* Sets raw mode if standard input is a terminal.  From here on exit(), the signals that end the program, and
 * SIGTSTP restore it; SIGCONT sets it again, and raises SIGWINCH. */
void user_terminal_take(void);
/* Restores it now. */
void user_terminal_restore(void);

/* Returns false if standard input is no terminal with a known size. */
bool user_terminal_size(unsigned *columns, unsigned *rows);

/* Blocks SIGWINCH and returns a descriptor that reports it. */
int user_terminal_open_resize(void);
