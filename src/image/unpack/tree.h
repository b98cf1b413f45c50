/* image/unpack/tree.h -- directories below one of ours, whatever is in them.
 *
 * No path is ever resolved but by the kernel, below a descriptor and never outside it (openat2).  Nobody else
 * writes in these trees. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"

#define TREE_PATH_MAX 4096 /* with the NUL */
#define TREE_DEPTH_MAX 128 /* names in a path: how deep a tree can be */

/* Writes path, from anywhere, as names with one slash between them: no "/" in front, no "." and nothing
 * empty.  "" is the top.  -EINVAL: it has "..", -ENAMETOOLONG, -E2BIG: too deep. */
int tree_path(const char *path, char ret[TREE_PATH_MAX]);

/* The last name of such a path, and what is before it, which is "" at the top. */
const char *tree_split(const char *path, char ret_parent[TREE_PATH_MAX]);

/* Opens what is below top; links in the path are not followed. */
int tree_open(int top, const char *path, uint64_t flags);
/* The same, as if top was "/": links are followed, and lead to below it. */
int tree_open_in(int top, const char *path, uint64_t flags);

/* How many directories above dir top is; -EXDEV: not below it, -E2BIG: more than TREE_DEPTH_MAX. */
int tree_depth(int top, int dir);

/* Removes at/name, whatever it is.  0 if it was not there. */
int tree_remove(int at, const char *name);
/* All that is in a directory. */
int tree_empty(int dir);

/* A file, written in one go and renamed to at/name from tmp/, so that it is there as a whole. */
int tree_write(int tmp, int at, const char *name, const char *text, size_t len);
/* A whole file, of at most max bytes: *ret is the caller's, with a NUL behind it. */
int tree_read(int top, const char *path, size_t max, char **ret, size_t *ret_len);
