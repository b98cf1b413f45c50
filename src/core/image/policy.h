/* core/image/policy.h -- which registries the daemon talks to, how, and as whom: the settings' `images`.
 *
 * A pull is traffic of the host's own, past every sandbox's network policy: a name chosen by an agent must
 * not lead anywhere the operator has not named. */
#pragma once
#include "core/core.h"
#include "image/store/reference.h"

/* How much of the disk the store may have; 0: as much as there is. */
uint64_t image_policy_max_bytes(const struct settings *settings);

/* Whether an image may be pulled because somebody uses it. */
bool image_policy_pulls(const struct settings *settings);

/* May the daemon talk to it; *ret_insecure: without TLS, or without knowing whom to.  insecure: that was
 * asked for. */
int image_policy_check(const struct settings *settings, const struct reference *ref, bool insecure,
                       bool *ret_insecure, struct cella_err *err);

/* What the settings' secret for this registry says, as a JSON object in *ret, which is wiped and freed by
 * image_policy_forget(); NULL: nothing. */
int image_policy_credentials(struct core *core, const struct reference *ref, char **ret,
                             struct cella_err *err);
void image_policy_forget(char *credentials);
