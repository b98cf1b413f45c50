/* core/image/policy.h -- the registries that the daemon may use, and the credentials for them: the settings'
 * `images`.
 *
 * A pull is traffic of the host and not subject to a sandbox's network policy.  An image name chosen by an
 * agent must not lead to a registry that the operator has not listed. */
#pragma once
#include "core/core.h"
#include "image/store/reference.h"

/* Returns the maximum size of the store; 0: unlimited. */
uint64_t image_policy_max_bytes(const struct settings *settings);

/* Whether a missing image is pulled when a request uses it. */
bool image_policy_pulls(const struct settings *settings);

/* Checks whether the registry may be used.  insecure: the request asks for no TLS.  *ret_insecure: TLS or its
 * certificate check is off. */
int image_policy_check(const struct settings *settings, const struct reference *ref, bool insecure,
                       bool *ret_insecure, struct cella_err *err);

/* Returns the secret for this registry as a JSON object in *ret, which image_policy_forget() wipes and frees;
 * NULL: none. */
int image_policy_credentials(struct core *core, const struct reference *ref, char **ret,
                             struct cella_err *err);
void image_policy_forget(char *credentials);
