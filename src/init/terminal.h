/* init/terminal.h -- terminals for commands, from the sandbox's own /dev/pts. */
#pragma once
#include <stdint.h>

/* A new terminal of this size.  Returns its master's descriptor; *ret_slave is the other end's.
 * -ENODEV: this sandbox has none. */
int terminal_open(uint16_t columns, uint16_t rows, int *ret_slave);

/* Makes slave the terminal of a new session, led by the caller. */
int terminal_take(int slave);
