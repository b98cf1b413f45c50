/* jail/landlock.h -- a second enforcement of the file rules, by Landlock. */
#pragma once
#include "jail/spec.h"

/* Makes the rules for the finished view; its root must be the working directory.  Returns their descriptor,
 * -1 if this kernel has no Landlock, or another negative errno. */
int landlock_prepare(const struct jail_spec *spec, struct cella_err *err);

/* Restricts the caller and its children permanently.  A ruleset of -1 does nothing. */
int landlock_restrict(int ruleset, struct cella_err *err);
