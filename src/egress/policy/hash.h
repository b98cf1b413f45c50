/* egress/policy/hash.h -- FNV-1a.  Not collision-resistant: an attacker can construct collisions. */
#pragma once
#include <stdint.h>

#define HASH_BEGIN 0xcbf29ce484222325u

/* Adds a text including its NUL. */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
        do
                hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
        while (*text++ != '\0');
        return hash;
}
