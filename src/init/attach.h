/* init/attach.h -- init in a container that lets no socket in: its messages go over standard input and
 * output, which the engine carries to the owner. */
#pragma once
#include <stdint.h>

/* Makes INIT_CONTROL_FD, and waits until the first message is there to be read from it. */
int attach_begin(void);

/* When the walls stand: from here on a thread of ours carries the messages, behind the same walls, with
 * descriptors of its own.  Nothing if attach_begin() was not called. */
int attach_go_on(void);

/* Exits, when all that was said has gone out. */
_Noreturn void attach_leave(int code);
