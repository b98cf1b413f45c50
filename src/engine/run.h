/* engine/run.h -- one execution, from the start of the command to its result. */
#pragma once
#include "cella.h"
#include "engine/outlet.h"
#include "image/store/store.h"
#include "keeper/spawn/sandbox.h"

/* Executes a command.  outlet: the network of the sandbox, or NULL.  image: its image, or NULL. */
int run_command(struct sandbox *sandbox, struct outlet *outlet, const struct image *image,
                const struct cella_command *command, struct cella_result *ret, struct cella_err *err);
