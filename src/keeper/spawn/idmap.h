/* keeper/spawn/idmap.h -- user namespaces for idmapped mounts, so that the code owns a host directory's
 * files. */
#pragma once
#include "cella.h"

/* Makes a user namespace that maps the owner `from` on disk to `to` at run time.  Returns its descriptor or
 * -errno. */
int idmap_open(unsigned from_uid, unsigned from_gid, unsigned to, struct cella_err *err);
