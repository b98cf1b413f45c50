/* core/mount.h -- directories of the host that a sandbox shows beside its workspace.
 *
 * The administrator names them in the setting `mounts`.  A sandbox keeps the names, [{name, target, mode}].
 * The paths are looked up in the settings each time when it is made. */
#pragma once
#include <jansson.h>

#include "core/settings/settings.h"
#include "wire/keeper.h"

/* Checks the mounts of a request against the settings.  *ret: the complete list, a new reference; NULL if
 * asked is NULL or empty.  CELLA_NOT_FOUND: no such name; CELLA_ACCESS_DENIED: the setting does not allow the
 * mode. */
int mount_resolve(const struct settings *settings, const json_t *asked, json_t **ret, struct cella_err *err);

/* Adds them to the request to the keeper.  list NULL: none. */
int mount_fill(const struct settings *settings, const json_t *list, struct keeper_make_mounts *make,
               struct cella_err *err);

/* Checks that a request to an existing sandbox asks for the mounts that it has.  asked NULL: any. */
int mount_check_same(const json_t *have, const json_t *asked, struct cella_err *err);
