#include "base/base64.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(const char *data, size_t len, char *ret)
{
        const unsigned char *p = (const unsigned char *)data;
        for (size_t i = 0; i < len; i += 3, ret += 4) {
                uint32_t three = (uint32_t)p[i] << 16 | (i + 1 < len ? (uint32_t)p[i + 1] << 8 : 0) |
                                 (i + 2 < len ? p[i + 2] : 0);
                ret[0] = digits[three >> 18];
                ret[1] = digits[three >> 12 & 63];
                ret[2] = digits[three >> 6 & 63];
                ret[3] = digits[three & 63];
                if (i + 1 >= len)
                        ret[2] = '=';
                if (i + 2 >= len)
                        ret[3] = '=';
        }
}

int base64_value(char c)
{
        if (c >= 'A' && c <= 'Z')
                return c - 'A';
        if (c >= 'a' && c <= 'z')
                return c - 'a' + 26;
        if (c >= '0' && c <= '9')
                return c - '0' + 52;
        return c == '+' ? 62 : c == '/' ? 63 : -1;
}

ssize_t base64_decode(const char *text, size_t len, char *ret, size_t size)
{
        size_t n = 0;
        if (len % 4 != 0)
                return -EINVAL;
        for (size_t i = 0; i < len; i += 4) {
                bool last = i + 4 == len;
                int pad = last && text[i + 3] == '=' ? text[i + 2] == '=' ? 2 : 1 : 0;
                uint32_t four = 0;
                for (int k = 0; k < 4; k++) {
                        int v = k >= 4 - pad ? 0 : base64_value(text[i + (size_t)k]);
                        if (v < 0)
                                return -EINVAL;
                        four = four << 6 | (uint32_t)v;
                }
                /* RFC 4648, 3.5: pad bits must be zero. */
                if ((pad == 1 && (four & 0xff)) || (pad == 2 && (four & 0xffff)))
                        return -EINVAL;
                for (int k = 0; k < 3 - pad; k++) {
                        if (n == size)
                                return -ENOSPC;
                        ret[n++] = (char)(four >> (16 - 8 * k));
                }
        }
        return (ssize_t)n;
}
