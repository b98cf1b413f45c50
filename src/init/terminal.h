/* init/terminal.h -- terminals for commands, in the sandbox's own /dev/pts. */
#pragma once
#include <stdint.h>

/* Makes a terminal of this size. Returns the descriptor of its master and sets *ret_slave. -ENODEV: this
 * sandbox has no terminals. */
int terminal_open(uint16_t columns, uint16_t rows, int *ret_slave);

/* Starts a new session with slave as its controlling terminal. */
int terminal_take(int slave);
