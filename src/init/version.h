/* init/version.h -- a program that is asked for by its version, and has no name of its own. */
#pragma once
#include "init/request.h"

/* In the process that is going to be the command, as first.h: if its program (that of what runs first, if
 * something does) is not in PATH, puts check_argv[0] in its place, provided that this says the right version.
 * -ENOENT: it does not, or is not there either. */
int version_settle(const struct request_spawn *what, void *stack_top);
