/* secret/handle.h -- how a request names secrets: {"secrets": {"API_KEY": "{{secret:name}}"}}.
 *
 * The variable of one execution, and a handle: {{secret:name}}, or the name alone.  Messages name the field
 * and say what it may be. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "cella.h"
#include "secret/name.h"

#define SECRET_HANDLES_MAX 64 /* of one execution; as many as can be masked */

/* The name in a handle, or -EINVAL. */
int secret_handle_parse(const char *text, size_t len, char ret[SECRET_NAME_SIZE]);

/* Checks such an object: the `check` of a field, see schema.h.  path: what the field is called. */
int secret_handles_check(const json_t *handles, const char *path, struct cella_err *err);
/* That none of them is in `env`, too (NULL: there is none). */
int secret_handles_check_env(const json_t *handles, const json_t *env, const char *path,
                             struct cella_err *err);

/* A key's list of the secrets it may use, ["name", "*"]: the `check` of its field, and the question. */
int secret_list_check(const json_t *list, const char *path, struct cella_err *err);
bool secret_list_has(const json_t *list, const char *name);
