/* secret/grant.h -- the secrets of one execution: variables with their values, and the mask that removes
 * the values from its output.
 *
 * All or nothing: if a secret is unknown or not allowed for the key, there is no grant and nothing is run. */
#pragma once
#include <jansson.h>
#include <stddef.h>

#include "base/auto.h"
#include "cella.h"
#include "secret/mask.h"
#include "secret/store.h"

struct secret_grant {
        const char **env; /* NULL-terminated NAME=value, in guarded memory */
        size_t n;
        struct mask *mask;
};

/* handles (called path in messages) were checked by secret_handles_check().  allowed is the key's list;
 * NULL: all.  Without handles (NULL or {}), *ret is NULL.  The caller frees *ret with secret_grant_free(). */
int secret_grant_new(struct secret_store *store, const json_t *handles, const json_t *allowed,
                     const char *path, struct secret_grant **ret, struct cella_err *err);
struct secret_grant *secret_grant_free(struct secret_grant *grant);
DEFINE_AUTO(struct secret_grant *, secret_grant_free)

/* Returns the mask of a grant; grant may be NULL. */
static inline struct mask *secret_grant_mask(const struct secret_grant *grant)
{
        return grant ? grant->mask : NULL;
}
