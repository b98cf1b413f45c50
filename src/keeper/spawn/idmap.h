/* keeper/spawn/idmap.h -- making a host directory's owner and the code the same person. */
#pragma once
#include "cella.h"

/* A user namespace for idmapped mounts, in which `from` on disk is `to` at run time.
 * Returns its descriptor or -errno. */
int idmap_open(unsigned from_uid, unsigned from_gid, unsigned to, struct cella_err *err);
