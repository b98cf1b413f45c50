/* jail/landlock.h -- the file rules once more, enforced by the security module. */
#pragma once
#include "jail/spec.h"

/* Restricts the caller and its children for good.  Call it in the finished view. */
int landlock_restrict(const struct jail_spec *spec, struct cella_err *err);
