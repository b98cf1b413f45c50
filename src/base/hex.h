/* base/hex.h -- the value of a hexadecimal digit (upper or lower case), or -1. */
#pragma once

static inline int hex_value(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}
