/* docker/network.h -- sets up the network of a container's namespace from outside.
 *
 * The container's init cannot do this, because it has no capabilities.  It sends its namespace, and a child
 * of this process enters it. */
#pragma once
#include <stdbool.h>

#include "cella.h"
#include "wire/docker.h"

/* Keeps only the capabilities that are needed here, as permitted but not effective.  Call once, before
 * threads are started. */
int network_keep_rights(void);

/* Fails if this engine does not allow a network, before a container is made. */
int network_check(const struct docker_opened *engine, struct cella_err *err);

/* Asks init, which waits for INIT_JOIN, for its namespace and makes the two sockets in it (wire/egress.h).  A
 * child process does this, so that this process never enters the namespace.  On failure nothing stays
 * open. */
int network_open(int control, int ret[2], struct cella_err *err);
