/* image/unpack/paths.h -- a list of paths (tree.h) with a maximum size. */
#pragma once
#include <jansson.h>
#include <stddef.h>

#define PATHS_MAX 200000                  /* entries of a list */
#define PATHS_TEXT_MAX ((size_t)16 << 20) /* bytes of all entries */

/* The entries follow each other, each with its NUL. */
struct paths {
        char *text;
        size_t len, size, n;
};

void paths_done(struct paths *paths);

/* Returns 0, -ENOMEM or -EFBIG. */
int paths_add(struct paths *paths, const char *path);

/* Returns the path after `at`, the first one for NULL; NULL at the end. */
const char *paths_next(const struct paths *paths, const char *at);

/* The list as a JSON array, a new reference.  Names can be any bytes: all but printable ASCII is written %XX.
 */
json_t *paths_to_json(const struct paths *paths);
/* Adds the paths of such an array to *ret.  -EINVAL, -ENOMEM, -EFBIG. */
int paths_from_json(const json_t *array, struct paths *ret);
