/* docker/sweep.h -- removes containers that a killed cella-docker left. */
#pragma once
#include "docker/place.h"

/* Removes containers with our home in their label and an owner that does not run. */
void sweep(const struct place *place, const char *socket);
