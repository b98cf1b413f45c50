/* keeper/spawn/options.h -- checks what a caller asks for, before anything is made. */
#pragma once
#include "cella.h"
#include "jail/spec.h"

#define OPTIONS_MOUNTS_MAX 64

/* Says whether target may be the place of a mount; -EINVAL with the reason if not. */
int options_check_target(const char *target, struct cella_err *err);

/* Every limit within its range, every mount's source there and its target sane. */
int options_check(const struct cella_options *options, struct cella_err *err);
