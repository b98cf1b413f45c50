/* docker/network.h -- the way out of a container's network namespace, made from outside.
 *
 * The container's own init cannot: it has no capability.  So it says where it is, and we go there. */
#pragma once
#include <stdbool.h>

#include "cella.h"
#include "wire/docker.h"

/* Keeps of our capabilities those that are needed for this, and none of them in use until then.  Once, before
 * there are threads. */
int network_keep_rights(void);

/* Says so if it cannot be had with this engine, before there is a container. */
int network_check(const struct docker_opened *engine, struct cella_err *err);

/* Asks init, which waits at the other end for INIT_JOIN, for its namespace, and makes the two sockets there
 * (wire/egress.h).  A child does that, so that nothing of ours is ever in that namespace.  On failure nothing
 * is open. */
int network_open(int control, int ret[2], struct cella_err *err);
