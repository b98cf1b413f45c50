/* init/first.h -- what has to run before a command. */
#pragma once
#include <sys/types.h>

#include "init/request.h"

/* Starts it, as a child of the process that is going to be the command: on a stack of its own, of 8 KiB, in
 * the same memory.  Returns its pid, or -errno if it cannot be executed. */
pid_t first_start(const struct request_spawn *what, void *stack_top);

/* Ends the calling process as a child of it ended. */
_Noreturn void first_end_as(int status);

/* Waits for it.  Ends the calling process as it ended, unless that was well. */
void first_wait(pid_t pid);
