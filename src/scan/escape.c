#include "scan/escape.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

static int escape_digit(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Reads up to max digits of a base; returns their number. */
static size_t escape_number(const char *text, size_t len, size_t max, int base, uint32_t *ret)
{
        size_t n = 0;
        *ret = 0;
        while (n < len && n < max && escape_digit(text[n]) < base) {
                *ret = *ret * (uint32_t)base + (uint32_t)escape_digit(text[n]);
                n++;
        }
        return n;
}

static size_t escape_put(char *ret, uint32_t c, bool byte)
{
        if (byte) {
                *ret = (char)c;
                return 1;
        }
        return utf8_put(ret, c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? '?' : c);
}

/* The character that a letter after a backslash stands for; 0: none. */
static char simple(enum escapes escapes, char c)
{
        static const char from[] = "bfnrtvaeE", to[] = "\b\f\n\r\t\v\a\033\033";
        const char *found = c ? strchr(from, c) : NULL;
        if (!found || (c == 'a' && escapes == ESCAPES_JAVASCRIPT) ||
            ((c == 'e' || c == 'E') && escapes != ESCAPES_SHELL))
                return 0;
        return to[found - from];
}

/* Decodes a numeric escape after the backslash. Returns the bytes of text that it takes, or 0 if it is
 * none. The output is never longer than the escape: \x and two digits give at most two bytes, \u and four
 * digits three. */
static size_t numeric(enum escapes escapes, const char *text, size_t len, char *ret, size_t *ret_len)
{
        bool bytes = escapes == ESCAPES_PYTHON_BYTES || escapes == ESCAPES_SHELL;
        uint32_t c;
        size_t n, taken;
        if (text[0] == 'x' && (n = escape_number(text + 1, len - 1, 2, 16, &c)) > 0) {
                taken = n + 1;
        } else if (text[0] == 'u' && len > 1 && text[1] == '{' && escapes == ESCAPES_JAVASCRIPT) {
                n = escape_number(text + 2, len - 2, 8, 16, &c);
                taken = n + 2 + (n + 2 < len);
                bytes = false;
        } else if ((text[0] == 'u' || text[0] == 'U') && escapes != ESCAPES_PYTHON_BYTES &&
                   (n = escape_number(text + 1, len - 1, text[0] == 'u' ? 4 : 8, 16, &c)) > 0) {
                taken = n + 1;
                bytes = false;
        } else if (text[0] >= '0' && text[0] < '8') {
                taken = escape_number(text, len, 3, 8, &c);
        } else {
                return 0;
        }
        *ret_len = escape_put(ret, c, bytes);
        return taken;
}

size_t escape_decode(enum escapes escapes, const char *text, size_t len, char *ret)
{
        size_t used = 0, wide;
        for (size_t i = 0; i < len;) {
                if (text[i] != '\\' || i + 1 == len) {
                        ret[used++] = text[i++];
                        continue;
                }
                i++;
                char c[4];
                size_t taken = numeric(escapes, text + i, len - i, c, &wide);
                if (taken > 0 && wide <= taken + 1) {
                        memcpy(ret + used, c, wide);
                        used += wide;
                        i += taken;
                } else if (text[i] == '\n') {
                        i++; /* a line continuation */
                } else if (simple(escapes, text[i])) {
                        ret[used++] = simple(escapes, text[i++]);
                } else {
                        /* In JavaScript '\eval' is 'eval'; elsewhere the backslash stays. */
                        if (escapes != ESCAPES_JAVASCRIPT && !strchr("\\'\"", text[i]))
                                ret[used++] = '\\';
                        ret[used++] = text[i++];
                }
        }
        return used;
}
