/* secret/handle.h -- secrets in a request: {"secrets": {"API_KEY": "{{secret:name}}"}}.
 *
 * Each entry is an environment variable of the execution and a handle: {{secret:name}}, or only the name.
 * Messages contain the field and the allowed values. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cella.h"
#include "secret/name.h"

#define SECRET_HANDLES_MAX 64 /* per execution; as many as can be masked */

/* Returns the name in a handle.  0 or -EINVAL. */
int secret_handle_parse(const char *text, size_t len, char ret[SECRET_NAME_SIZE]);

/* Checks such an object: the `check` function of a field, see schema.h.  path: name of the field. */
int secret_handles_check(const json_t *handles, const char *path, struct cella_err *err);
/* Checks that none of the variables is in `env`, too (may be NULL). */
int secret_handles_check_env(const json_t *handles, const json_t *env, const char *path,
                             struct cella_err *err);

/* A key's list of allowed secrets, ["name", "*"]: the `check` function of its field, and the lookup. */
int secret_list_check(const json_t *list, const char *path, struct cella_err *err);
bool secret_list_has(const json_t *list, const char *name);
