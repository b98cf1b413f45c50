/* image/unpack/paths.h -- a list of paths (tree.h), bounded. */
#pragma once
#include <stddef.h>

#include "base/json.h"
#include "base/json_read.h"

#define PATHS_MAX 200000                  /* of one list */
#define PATHS_TEXT_MAX ((size_t)16 << 20) /* bytes of all */

/* Each with its NUL, one after the other. */
struct paths {
        char *text;
        size_t len, size, n;
};

void paths_done(struct paths *paths);

/* -ENOMEM, -EFBIG. */
int paths_add(struct paths *paths, const char *path);

/* The one after `at`, the first with NULL; NULL at the end. */
const char *paths_next(const struct paths *paths, const char *at);

/* As JSON, where names are any bytes: what is not plain ASCII is written %XX. */
void paths_put(struct json *j, const char *key, const struct paths *paths);
int paths_get(const struct json_value *object, const char *key, struct paths *ret); /* -EINVAL, too */
