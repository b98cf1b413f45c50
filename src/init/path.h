/* init/path.h -- paths, for a helper.  What they lead to is inside the sandbox anyway; links on the
 * way are followed unless said otherwise. */
#pragma once
#include <stddef.h>

#include "wire/init.h"

struct statx;

/* Makes the directories that path lies in; with_last: path itself too. */
int path_make(const char *path, int with_last);

/* The directory that path lies in (a descriptor), and the name in it; a name that is a link is
 * followed, also to a place where nothing is yet.  name holds 256 bytes.  -EISDIR: it can only be
 * a directory. */
int path_leaf(const char *path, char *name);

void path_stat(const struct statx *st, struct init_stat *ret);
