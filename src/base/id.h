/* base/id.h -- random identifiers such as sbx_7m2k... */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define ID_RANDOM_CHARS 20
#define ID_SIZE 32 /* the longest prefix, the random part and the NUL */

/* Writes prefix and 20 random base32 characters (100 bits).  Returns 0 or -errno. */
int id_make(const char *prefix, char ret[ID_SIZE]);
/* Returns whether the text is the prefix with at least one lower-case letter or digit after it, and nothing
 * else.  An id that was read from a file or from a user may be used as the name of a file only after this
 * check. */
bool id_is(const char *text, const char *prefix);
