/* docker/sweep.h -- containers that a killed cella-docker left behind. */
#pragma once
#include "docker/place.h"

/* Removes those that have our home on their label and whose owner does not live. */
void sweep(const struct place *place, const char *socket);
