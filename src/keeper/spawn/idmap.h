/* keeper/spawn/idmap.h -- user namespaces for idmapped mounts, so that the code owns a host directory's
 * files. */
#pragma once
#include "cella.h"

/* Makes a user namespace that maps the owner `from` on disk to `to` at run time, and the n - 1 following ids
 * likewise.  Returns its descriptor or -errno. */
int idmap_open(unsigned from_uid, unsigned from_gid, unsigned to, unsigned n, struct cella_err *err);
