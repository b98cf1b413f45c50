/* init/attach.h -- init in a container that lets no socket in: its messages use standard input and output,
 * which the engine connects to the owner. */
#pragma once
#include <stdint.h>

/* Makes INIT_CONTROL_FD and waits until the first message can be read from it. 0 or -errno. */
int attach_begin(void);

/* Call it when the walls are set up. Starts a thread that carries the messages, behind the same walls,
 * with its own descriptors. Does nothing if attach_begin() was not called. */
int attach_continue(void);

/* Exits with this code after all messages were sent. */
_Noreturn void attach_leave(int code);
