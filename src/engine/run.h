/* engine/run.h -- one execution, from the start of the command to its result. */
#pragma once
#include "cella.h"
#include "keeper/sandbox.h"

int run_command(struct sandbox *sandbox, const struct cella_command *command, struct cella_result *ret,
                struct cella_err *err);
