/* egress/name.h -- host names as hostile programs write them, made comparable or refused. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define NAME_MAX_BYTES 254 /* with its NUL */

/* What text of `length` bytes (no NUL needed; one inside is refused) names, in its only form: lower
 * case, one trailing dot taken off, labels of 1 to 63 letters, digits, - and _ (- not first or last).
 * Anything else (bytes above 127, empty labels, a name of digits and dots or 0x.. that some
 * inet_aton() would take for an address, a last label of digits only) is refused: -EINVAL. */
int name_normalise(const char *text, size_t length, char ret[NAME_MAX_BYTES]);
