/* keeper/spawn/image_root.h -- the root directory of an image, by its id.
 *
 * The store belongs to who is not trusted with more than that: the daemon's server.  So it is walked without
 * following links, and nothing in it counts that is not its owner's. */
#pragma once
#include "cella.h"

#define IMAGE_ROOT_PATH 1200 /* a state directory, and what is below it */

/* Opens STORE/roots/ID, and says in path where that is.  As long as the descriptor or a copy of it is open,
 * the directory is locked (shared) against being removed.  owner: whose the store must be; -1: anybody's.
 * CELLA_NOT_FOUND where there is no such image. */
int image_root_open(const char *store, const char *id, int64_t owner, char path[IMAGE_ROOT_PATH],
                    struct cella_err *err);
