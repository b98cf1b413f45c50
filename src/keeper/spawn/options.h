/* keeper/spawn/options.h -- checks the options of a caller before anything is made. */
#pragma once
#include "cella.h"
#include "jail/spec.h"

#define OPTIONS_MOUNTS_MAX 64

/* Checks whether target may be a mount point.  Returns 0, or -EINVAL with the reason. */
int options_check_target(const char *target, struct cella_err *err);

/* Checks that every limit is in range, that the source of every mount exists and that its target is valid. */
int options_check(const struct cella_options *options, struct cella_err *err);
