/* jail/enter.h -- from a freshly cloned child to init behind all walls. */
#pragma once
#include "jail/spec.h"

/* The namespaces to clone the child with. */
uint64_t jail_clone_flags(const struct jail_spec *spec);

/* In the child: raises the walls and becomes init.  On failure tells the owner why, over
 * the control socket, and exits. */
_Noreturn void jail_enter(struct jail_spec *spec);
