/* init/first.h -- a program that has to run before a command. */
#pragma once
#include <sys/types.h>

#include "init/request.h"

/* Starts the program as a child of the process that will become the command, in the same memory, on its
 * own stack of 8 KiB. Returns its pid, or -errno if it cannot be executed. */
pid_t first_start(const struct request_spawn *what, void *stack_top);

/* Ends the calling process with the same status as its child. */
_Noreturn void first_end_as(int status);

/* Waits for the program. If it failed, ends the calling process with the same status. */
void first_wait(pid_t pid);
