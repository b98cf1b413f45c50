/* http/sha1.c -- FIPS 180-4, section 6.1. */
#include "http/sha1.h"

#include <string.h>

#define BLOCK 64

static uint32_t rotate(uint32_t x, unsigned n)
{
        return x << n | x >> (32 - n);
}

static uint32_t big_endian(const uint8_t *p)
{
        return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void add_block(uint32_t hash[5], const uint8_t block[BLOCK])
{
        uint32_t w[80], a = hash[0], b = hash[1], c = hash[2], d = hash[3], e = hash[4];

        for (unsigned t = 0; t < 16; t++)
                w[t] = big_endian(block + 4 * t);
        for (unsigned t = 16; t < 80; t++)
                w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
        for (unsigned t = 0; t < 80; t++) {
                uint32_t f, k, next;

                if (t < 20)
                        f = (b & c) ^ (~b & d), k = 0x5a827999;
                else if (t < 40)
                        f = b ^ c ^ d, k = 0x6ed9eba1;
                else if (t < 60)
                        f = (b & c) ^ (b & d) ^ (c & d), k = 0x8f1bbcdc;
                else
                        f = b ^ c ^ d, k = 0xca62c1d6;
                next = rotate(a, 5) + f + e + k + w[t];
                e = d, d = c, c = rotate(b, 30), b = a, a = next;
        }
        hash[0] += a, hash[1] += b, hash[2] += c, hash[3] += d, hash[4] += e;
}

void sha1(const void *data, size_t len, uint8_t ret[SHA1_BYTES])
{
        uint32_t hash[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
        const uint8_t *at = data;
        uint8_t last[2 * BLOCK] = {0};
        uint64_t bits = (uint64_t)len * 8;
        size_t left = len, size;

        for (; left >= BLOCK; left -= BLOCK, at += BLOCK)
                add_block(hash, at);
        memcpy(last, at, left);
        last[left] = 0x80;
        size = left + 1 + 8 <= BLOCK ? BLOCK : 2 * BLOCK;
        for (unsigned i = 0; i < 8; i++)
                last[size - 1 - i] = (uint8_t)(bits >> 8 * i);
        for (size_t i = 0; i < size; i += BLOCK)
                add_block(hash, last + i);
        for (unsigned i = 0; i < SHA1_BYTES; i++)
                ret[i] = (uint8_t)(hash[i / 4] >> (24 - 8 * (i % 4)));
}
