/* init/files/path.h -- path functions for a helper. All paths are inside the sandbox; links in a path are
 * followed unless stated otherwise. */
#pragma once
#include <stddef.h>

#include "wire/init.h"

struct statx;

/* Makes the parent directories of path; with_last: also path itself. */
int path_make(const char *path, int with_last);

/* Returns a descriptor of the parent directory and stores the last component in name (256 bytes). A last
 * component that is a link is followed, also if its target does not exist. -EISDIR: the path can only be a
 * directory. */
int path_leaf(const char *path, char *name);

void path_stat(const struct statx *st, struct init_stat *ret);
