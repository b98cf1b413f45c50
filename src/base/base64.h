/* base/base64.h -- RFC 4648, with padding. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* Decodes strictly: nothing but whole groups.  Returns the length, or -EINVAL, -ENOSPC. */
ssize_t base64_decode(const char *text, size_t len, char *ret, size_t size);

#define BASE64_LEN(n) (((n) + 2) / 3 * 4)
/* Writes BASE64_LEN(len) characters, no NUL. */
void base64_encode(const char *data, size_t len, char *ret);
