/* engine/files.h -- asks init for the workspace files that a command changed, and adds them to the result. */
#pragma once
#include <time.h>

#include "cella.h"
#include "keeper/spawn/sandbox.h"

/* Adds the file of an INIT_FILE message. */
int files_keep(struct cella_result *result, const char *data, size_t len);

int files_list(struct sandbox *sandbox, const struct timespec *since, struct cella_result *result,
               struct cella_err *err);
