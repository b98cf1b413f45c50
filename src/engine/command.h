/* engine/command.h -- turns a command into the messages that start it. */
#pragma once
#include "cella.h"
#include "keeper/sandbox.h"

/* Checks it and, where code comes as a file, puts that into the sandbox; then asks init
 * to start it on the three descriptors.  It is not known yet whether that worked. */
int command_start(struct sandbox *sandbox, const struct cella_command *command, const int fds[3],
                  struct cella_err *err);

/* Words for a command that init could not start, with -errno num. */
int command_explain(const struct cella_command *command, int num, struct cella_err *err);
