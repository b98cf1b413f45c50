/* engine/isolation.h -- the walls that stand, as the words of a result. */
#pragma once
#include "cella.h"

/* walls: enum wall; missing: CELLA_LIMIT_* that this host cannot enforce. */
void isolation_fill(uint32_t walls, uint32_t missing, struct cella_isolation *ret);

/* In walls, beside those: the engine that raised them, if it was not the native one. */
#define ISOLATION_DOCKER (1u << 30)
#define ISOLATION_PODMAN (1u << 31)
