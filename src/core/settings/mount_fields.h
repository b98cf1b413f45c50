/* core/settings/mount_fields.h -- named directories of the host: the setting `mounts`, and `mounts` of a
 * request. */
#pragma once
#include "schema/schema.h"

extern const char *const mount_words[]; /* ro, rw: as in enum workspace_access, without none */

extern const struct field mount_setting; /* one item of the setting */
extern const struct field mount_request; /* one item of a request */

/* Checks the setting as a whole: names are unique, and no directory that code can write to contains another
 * one.  Code could replace the inner one by a link. */
int mounts_check_settings(const json_t *document, struct cella_err *err);
/* Checks the list of a request: no target lies in another one. */
int mounts_check_request(const json_t *list, const char *path, struct cella_err *err);
