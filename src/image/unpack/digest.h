/* image/unpack/digest.h -- SHA-256 of data that arrives in parts. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/auto.h"

#define DIGEST_HEX 64

struct digest; /* opaque */

struct digest *digest_new(void); /* NULL: no memory */
struct digest *digest_free(struct digest *d);
DEFINE_AUTO(struct digest *, digest_free)

void digest_add(struct digest *d, const void *data, size_t len);
void digest_end(struct digest *d, char ret[DIGEST_HEX + 1]); /* call it once */

/* Computes the digest of one block. */
int digest_of(const void *data, size_t len, char ret[DIGEST_HEX + 1]);

/* Returns the 64 digits of "sha256:HEX" or HEX; NULL if it is neither. */
const char *digest_hex(const char *text);
