/* base/id.h -- random identifiers such as sbx_7m2k... */
#pragma once
#include <stddef.h>

#define ID_RANDOM_CHARS 20
#define ID_SIZE 32 /* the longest prefix, the random part and the NUL */

/* Writes prefix and 20 random base32 characters (100 bits).  Returns 0 or -errno. */
int id_make(const char *prefix, char ret[ID_SIZE]);
