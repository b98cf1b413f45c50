/* docker/find.h -- finds the container engine to use. */
#pragma once
#include "docker/setup.h"

/* Finds Docker or Podman at the requested socket, at that of DOCKER_HOST, or at the first usual place that
 * answers.  The error tells the operator what to do. */
int find_engine(const struct setup *setup, const struct docker_open *want, struct docker_opened *ret,
                struct cella_err *err);
