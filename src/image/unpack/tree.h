/* image/unpack/tree.h -- directories below one of ours, with untrusted content.
 *
 * Paths are only resolved by the kernel, below a descriptor and never outside it (openat2).  No other process
 * writes to these trees. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"

#define TREE_PATH_MAX 4096 /* including the NUL */
#define TREE_DEPTH_MAX 128 /* names in a path: the maximum depth of a tree */

/* Normalises an untrusted path to names with one slash between them: no leading "/", no "." and no empty
 * names.  "" is the top.  -EINVAL: it contains "..", -ENAMETOOLONG, -E2BIG: too deep. */
int tree_path(const char *path, char ret[TREE_PATH_MAX]);

/* Returns the last name of such a path; ret_parent is the part before it, "" at the top. */
const char *tree_split(const char *path, char ret_parent[TREE_PATH_MAX]);

/* Opens a path below top; links in the path are not followed. */
int tree_open(int top, const char *path, uint64_t flags);
/* The same, as if top was "/": links are followed, below top. */
int tree_open_in(int top, const char *path, uint64_t flags);

/* Returns the number of directories between top and dir; -EXDEV: not below it, -E2BIG: more than
 * TREE_DEPTH_MAX. */
int tree_depth(int top, int dir);

/* Removes at/name, of any type.  Returns 0 if it does not exist. */
int tree_remove(int at, const char *name);
/* Removes the contents of a directory. */
int tree_empty(int dir);

/* Writes a file in tmp/ and renames it to at/name, so that it is never seen incomplete. */
int tree_write(int tmp, int at, const char *name, const char *text, size_t len);
/* Reads a whole file, of at most max bytes; the caller frees *ret, which ends with a NUL. */
int tree_read(int top, const char *path, size_t max, char **ret, size_t *ret_len);
