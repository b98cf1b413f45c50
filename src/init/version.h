/* init/version.h -- finds a program that is requested by version and has no name of its own. */
#pragma once
#include "init/request.h"

/* Runs in the process that will become the command, like first.h. If its program (or that of the program
 * that runs first) is not in PATH, replaces it by check_argv[0], provided that this has the requested
 * version. -ENOENT: it has not, or is not in PATH, either. */
int version_settle(const struct request_spawn *what, void *stack_top);
