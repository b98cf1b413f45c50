/* engine/hint.h -- what a user can do about a run that failed. */
#pragma once
#include "engine/verdict.h"

/* Sets result->hint: one sentence with the limit, its value, and the field and option that raise it; or
 * with the setting that allows a refused connection.  "": neither ended the run.  Call it when the status and
 * the violations of the result are complete. */
void hint_set(const struct verdict_facts *facts, const struct cella_limits *limits,
              struct cella_result *result);

/* If there is no hint yet and the error of the code, such as its standard error, ends with a
 * message that a module is missing: sets result->missing_module; and result->hint, which names the image
 * recipe `data`, if the module is in it. */
#define HINT_ERROR_END 1024 /* bytes at the end of the error that are read */
void hint_of_module(const char *error, size_t len, struct cella_result *result);

/* Replaces the hint in *err for a missing runtime: an image of the store (NULL: no store), an image to pull,
 * or a package if the host lacks it. */
void hint_of_runtime(const char *store, const char *name, bool host, struct cella_err *err);
