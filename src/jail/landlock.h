/* jail/landlock.h -- the file rules once more, enforced by the security module. */
#pragma once
#include "jail/spec.h"

/* Makes the rules, for the finished view in whose root the caller stands.  Returns their descriptor, -1 where
 * this kernel has no Landlock, less on failure. */
int landlock_prepare(const struct jail_spec *spec, struct cella_err *err);

/* Restricts the caller and its children for good. */
int landlock_restrict(int ruleset, struct cella_err *err);
