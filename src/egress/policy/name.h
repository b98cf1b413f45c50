/* egress/policy/name.h -- validates and normalises untrusted host names. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define NAME_MAX_BYTES 254 /* including the NUL */

/* Normalises a name of `length` bytes (need not be NUL-terminated; a NUL inside is refused): lower case,
 * without one trailing dot, labels of 1 to 63 letters, digits, - and _ (- not first or last).  Everything
 * else is refused with -EINVAL: bytes above 127, empty labels, a name of digits and dots or 0x.. that some
 * inet_aton() would parse as an address, a last label of digits only. */
int name_normalise(const char *text, size_t length, char ret[NAME_MAX_BYTES]);
