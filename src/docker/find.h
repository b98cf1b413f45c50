/* docker/find.h -- which container engine there is to use. */
#pragma once
#include "docker/setup.h"

/* Docker or Podman at the socket that is asked for; or that DOCKER_HOST names; or at the first that answers
 * where they are usually found.  The error says what a person can do. */
int find_engine(const struct setup *setup, const struct docker_open *want, struct docker_opened *ret,
                struct cella_err *err);
