/* jail/identity.h -- who the code is: user namespaces, uids, capabilities. */
#pragma once
#include "jail/spec.h"

/* For a caller without privilege: in a user namespace just made, become its only user, root:
 * anybody else would lose all capabilities at the exec of init. */
int identity_map_self(struct jail_spec *spec, struct cella_err *err);

/* The last word on privilege: switches to the code's uid, moves into a user namespace
 * that owns none of the sandbox's other namespaces, and drops every capability. */
int identity_drop(const struct jail_spec *spec, struct cella_err *err);
