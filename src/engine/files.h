/* engine/files.h -- asks init for the workspace files that a command changed, and adds them to the result. */
#pragma once
#include <time.h>

#include "cella.h"
#include "keeper/spawn/sandbox.h"

/* Adds the file of an INIT_FILE message. */
int files_keep(struct cella_result *result, const char *data, size_t len);

/* Runs INIT_STAT or INIT_READ on a path and passes what it sends to on_data (a negative value ends it and is
 * returned).  Sets *ret if that is not NULL.  No command may be running. */
struct init_stat;
int files_get(struct sandbox *sandbox, uint32_t operation, const char *path, struct init_stat *ret,
              int (*on_data)(void *userdata, const char *data, size_t len), void *userdata,
              struct cella_err *err);

int files_list(struct sandbox *sandbox, const struct timespec *since, struct cella_result *result,
               struct cella_err *err);
