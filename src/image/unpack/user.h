/* image/unpack/user.h -- resolves the user of an image. */
#pragma once
#include <stdint.h>

#include "cella.h"

/* Resolves "", NAME, UID, NAME:GROUP, UID:GID and mixtures by the image's own /etc/passwd and /etc/group,
 * which are hostile; root is a descriptor of its root directory.  A number without an entry has group 0. */
int user_resolve(int root, const char *user, uint32_t *ret_uid, uint32_t *ret_gid, struct cella_err *err);
