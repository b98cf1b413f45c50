/* jail/identity.h -- the user of the code: user namespaces, uids, capabilities. */
#pragma once
#include "jail/spec.h"

/* For a caller without privilege, in a new user namespace: maps the caller to root as the only user.  Any
 * other user would lose all capabilities at the exec of init. */
int identity_map_self(struct jail_spec *spec, struct cella_err *err);

/* The last step of dropping privilege: switches to the code's uid, enters a user namespace that owns none of
 * the sandbox's other namespaces, and drops all capabilities. */
int identity_drop(const struct jail_spec *spec, struct cella_err *err);
