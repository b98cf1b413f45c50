/* http/sha1.h -- SHA-1, for the WebSocket handshake only: it proves nothing but that a server
 * read the key. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define SHA1_BYTES 20

void sha1(const void *data, size_t len, uint8_t ret[SHA1_BYTES]);
