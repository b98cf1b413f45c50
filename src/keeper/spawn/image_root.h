/* keeper/spawn/image_root.h -- opens the root directory of an image by its id.
 *
 * The store belongs to the daemon's server, which is not trusted with other files.  Therefore links are not
 * followed, and files of other owners are refused. */
#pragma once
#include "cella.h"

#define IMAGE_ROOT_PATH 1200 /* the state directory and the path below it */

/* Opens STORE/roots/ID and writes its path.  While the descriptor or a copy is open, the directory is locked
 * (shared) against removal.  owner: required owner of the store; -1: any.  Returns the descriptor;
 * CELLA_NOT_FOUND: no such image. */
int image_root_open(const char *store, const char *id, int64_t owner, char path[IMAGE_ROOT_PATH],
                    struct cella_err *err);
