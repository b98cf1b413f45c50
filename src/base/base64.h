/* base/base64.h -- base64 (RFC 4648) with padding. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* Decodes strictly: complete groups of four characters, no white space, pad bits zero.  Returns the length,
 * -EINVAL, or -ENOSPC if ret is too small. */
ssize_t base64_decode(const char *text, size_t len, char *ret, size_t size);

/* Returns the six bits of a character, or -1 if it is not one of the alphabet. */
int base64_value(char c);

#define BASE64_LEN(n) (((n) + 2) / 3 * 4)
/* Writes BASE64_LEN(len) characters, without a NUL. */
void base64_encode(const char *data, size_t len, char *ret);
