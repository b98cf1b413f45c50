/* egress/hash.h -- FNV-1a: spreads what comes by chance.  Who wants two to be equal can have that. */
#pragma once
#include <stdint.h>

#define HASH_BEGIN 0xcbf29ce484222325u

/* Goes on with a text, its end included. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
        do
                hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
        while (*text++ != '\0');
        return hash;
}
