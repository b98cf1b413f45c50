/* core/grant.h -- what a caller may grant: never more than it has itself.
 *
 * A key with the capability `settings` can make and remove keys and change the settings.  This must not give
 * access to a capability, secret, tier or limit that the key itself does not have.  The owner may do
 * everything. */
#pragma once
#include <jansson.h>

#include "core/caller.h"

/* Whether the caller may make the key `about` (filled by schema_fill()).  Missing or null limits and
 * sandboxes_max are set to the caller's own.  secrets: the names that the caller may use.
 * CELLA_ACCESS_DENIED names the first thing that the caller does not have. */
int grant_key(const struct caller *caller, const json_t *secrets, json_t *about, struct cella_err *err);

/* Whether the caller may remove the key `about`: it must be one that it could have made. */
int grant_key_removal(const struct caller *caller, const json_t *secrets, const json_t *about,
                      struct cella_err *err);

/* Whether the caller may replace the settings `before` by `after`; both are whole documents. */
int grant_settings(const struct caller *caller, const json_t *before, const json_t *after,
                   struct cella_err *err);
