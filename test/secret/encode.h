/* test/secret/encode.h -- writes a value in the ways that programs do. */
#pragma once
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"

#define ENCODINGS 32
#define ENCODED_MAX(len) ((len)*6 + 8)

/* how: below ENCODINGS.  value has at most 500 bytes; out has room for ENCODED_MAX(len). */
static inline void encode(unsigned how, const char *value, size_t len, char *out)
{
        unsigned seed = how * 7919 + (unsigned)len;
        char base64[1024];
        switch (how % 8) {
        case 0:
                memcpy(out, value, len);
                out[len] = '\0';
                return;
        case 1:
        case 2: /* all characters, or only some */
                for (size_t i = 0; i < len; i++) {
                        seed = seed * 1103515245 + 12345;
                        bool plain = how % 8 == 2 && value[i] != '%' && seed >> 30;
                        out += plain ? sprintf(out, "%c", value[i])
                                     : sprintf(out, seed >> 29 & 1 ? "%%%02x" : "%%%02X",
                                               (unsigned char)value[i]);
                }
                return;
        case 3:
                for (size_t i = 0; i < len; i++)
                        out += sprintf(out, how & 8 ? "%02X" : "%02x", (unsigned char)value[i]);
                return;
        case 4:
                for (size_t i = 0; i < len; i++) {
                        seed = seed * 1103515245 + 12345;
                        unsigned char c = (unsigned char)value[i];
                        if (how & 16 && (c < ' ' || c >= 0x7f))
                                out += sprintf(out, how & 8 ? "\\0%03o" : "\\%03o", c);
                        else if (c < ' ')
                                out += sprintf(out, "\\u%04x", c);
                        else if (c == '"' || c == '\\' || (c == '/' && (seed >> 30)))
                                out += sprintf(out, "\\%c", c);
                        else
                                *out++ = (char)c;
                }
                *out = '\0';
                return;
        default: { /* base64 after 0 to 2 bytes, the digits that are the value's alone, or all */
                char all[520] = "";
                size_t before = how % 8 - 5, total = before + len;
                memset(all, 'x', before);
                memcpy(all + before, value, len);
                base64_encode(all, total, base64);
                base64[BASE64_LEN(total)] = '\0';
                for (char *p = base64; *p && how & 8; p++)
                        *p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
                if (how & 16 && strchr(base64, '='))
                        *strchr(base64, '=') = '\0';
                strcpy(out, base64 + (before ? before + 1 : 0));
        }
        }
}
