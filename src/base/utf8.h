/* base/utf8.h -- decodes and encodes one UTF-8 character. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Returns the length of the well-formed sequence at text, or 0.  Surrogates, overlong forms and values
 * above U+10FFFF are not well-formed. */
static inline size_t utf8_len(const char *text, size_t left)
{
        const unsigned char *p = (const unsigned char *)text;
        if (left == 0 || p[0] < 0x80)
                return left > 0;
        size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
        if (p[0] < 0xc2 || p[0] > 0xf4 || left < n)
                return 0;
        for (size_t i = 1; i < n; i++)
                if ((p[i] & 0xc0) != 0x80)
                        return 0;
        if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
            (p[0] == 0xf4 && p[1] > 0x8f))
                return 0;
        return n;
}

/* Decodes a well-formed sequence of n bytes. */
static inline uint32_t utf8_get(const char *text, size_t n)
{
        const unsigned char *p = (const unsigned char *)text;
        uint32_t c = n == 1 ? p[0] : p[0] & (0x7fu >> n);
        for (size_t i = 1; i < n; i++)
                c = c << 6 | (p[i] & 0x3f);
        return c;
}

/* Encodes c into out (up to 4 bytes) and returns the length. */
static inline size_t utf8_put(char *out, uint32_t c)
{
        size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
        for (size_t i = n - 1; i > 0; i--) {
                out[i] = (char)(0x80 | (c & 0x3f));
                c >>= 6;
        }
        out[0] = (char)(lead[n] | c);
        return n;
}
