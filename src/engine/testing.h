/* engine/testing.h -- for the attack tests only; not part of the installed library. */
#pragma once
#include <stdint.h>

#include "cella.h"
#include "jail/walls.h"

/* Like cella_sandbox_new(), but leaves out some walls.  With WALLS_SEVERAL_USERS, a sandbox whose user is
 * root has several users, as that of an image. */
int testing_sandbox_new(const struct cella_options *options, uint32_t walls_down, struct cella_sandbox **ret,
                        struct cella_err *err);
