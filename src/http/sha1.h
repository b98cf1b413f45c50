/* http/sha1.h -- SHA-1, only for the WebSocket handshake, where it only proves that the server has read the
 * key. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define SHA1_BYTES 20

void sha1(const void *data, size_t len, uint8_t ret[SHA1_BYTES]);
