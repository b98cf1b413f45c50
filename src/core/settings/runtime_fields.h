/* core/settings/runtime_fields.h -- the objects `runtimes` and `default_runtimes` of the settings. */
#pragma once
#include "schema/schema.h"

/* Returns the fields of one entry of `runtimes`. */
const struct field *runtime_settings_fields(void);

/* Checks for the two objects: every runtime must be known. */
int runtimes_check(const json_t *value, const char *path, struct cella_err *err);
int default_runtimes_check(const json_t *value, const char *path, struct cella_err *err);
