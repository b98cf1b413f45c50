/* engine/isolation.h -- the walls that stand, as the words of a result. */
#pragma once
#include "cella.h"

/* walls: enum wall; missing: CELLA_LIMIT_* that this host cannot enforce. */
void isolation_fill(uint32_t walls, uint32_t missing, struct cella_isolation *ret);
