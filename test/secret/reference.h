/* test/secret/reference.h -- masking in the plainest way: every part of a text is held against every form of
 * every value, and what belongs to one is marked.  Slow, whole texts only, and written without a look at the
 * real one: it decodes a part and compares, where that one reads on as long as nothing differs. */
#pragma once
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "secret/mask.h"

static inline int reference_hex(char c)
{
        const char *digits = "0123456789abcdef", *at = strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c);
        return c && at ? (int)(at - digits) : -1;
}

static inline bool reference_is_raw(const char *t, size_t len, const char *value, size_t n)
{
        for (; n > 0; value++, n--) {
                size_t step = len > 0 && t[0] == value[0]                            ? 1
                              : len > 1 && value[0] == '\n' && !memcmp(t, "\r\n", 2) ? 2
                                                                                     : 0;
                if (step == 0)
                        return false;
                t += step;
                len -= step;
        }
        return len == 0;
}

static inline bool reference_is_percent(const char *t, size_t len, const char *value, size_t n)
{
        size_t used = 0;
        for (size_t i = 0; i < len; used++) {
                if (used == n)
                        return false;
                if (t[i] == '%') {
                        if (i + 2 >= len || reference_hex(t[i + 1]) < 0 || reference_hex(t[i + 2]) < 0)
                                return false;
                        if ((char)(reference_hex(t[i + 1]) * 16 + reference_hex(t[i + 2])) != value[used])
                                return false;
                        i += 3;
                } else {
                        if (t[i] != value[used] && !(t[i] == '+' && value[used] == ' '))
                                return false;
                        i++;
                }
        }
        return used == n;
}

/* One unit of JSON or a repr at t: how long it is, what it stands for. */
static inline size_t reference_unit(const char *t, size_t len, char out[4], size_t *out_len)
{
        unsigned long code = 0;
        *out_len = 1;
        if (t[0] != '\\') {
                out[0] = t[0];
                return 1;
        }
        if (len < 2)
                return 0;
        const char *letters = "n\nr\rt\tb\bf\fv\va\ae\x1b";
        for (size_t i = 0; letters[i]; i += 2)
                if (t[1] == letters[i]) {
                        out[0] = letters[i + 1];
                        return 2;
                }
        size_t digits = t[1] == 'x' ? 2 : t[1] == 'u' ? 4 : t[1] == 'U' ? 8 : 0, size = 2 + digits;
        if (digits == 0) {
                out[0] = t[1];
                return 2;
        }
        if (len < size)
                return 0;
        for (size_t i = 2; i < size; i++) {
                if (reference_hex(t[i]) < 0)
                        return 0;
                code = code * 16 + (unsigned)reference_hex(t[i]);
        }
        if (digits == 2) {
                out[0] = (char)code;
                return size;
        }
        if (code >= 0xd800 && code <= 0xdbff) {
                unsigned long low = 0;
                if (len < size + 6 || t[size] != '\\' || t[size + 1] != 'u')
                        return 0;
                for (size_t i = size + 2; i < size + 6; i++) {
                        if (reference_hex(t[i]) < 0)
                                return 0;
                        low = low * 16 + (unsigned)reference_hex(t[i]);
                }
                if (low < 0xdc00 || low > 0xdfff)
                        return 0;
                code = 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
                size += 6;
        }
        if (code > 0x10ffff)
                return 0;
        *out_len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
        for (size_t i = *out_len; i-- > 1; code >>= 6)
                out[i] = (char)(0x80 | (code & 63));
        out[0] = (char)(lead[*out_len] | code);
        return size;
}

/* An octal escape at t, of three digits or of a zero and three, that stands for what the value goes on with:
 * how long it is, and how many bytes of the value that is; 0: none does. */
static inline size_t reference_octal(const char *t, size_t len, const char *value, size_t n,
                                     size_t *ret_bytes)
{
        for (size_t digits = 3; digits <= 4; digits++) {
                unsigned code = 0;
                size_t i = 1;
                for (; i <= digits && i < len && t[i] >= '0' && t[i] <= '7'; i++)
                        code = code * 8 + (unsigned)(t[i] - '0');
                if (i <= digits || code > 255 || (digits == 4 && t[1] != '0') || n == 0)
                        continue;
                *ret_bytes = 1;
                if ((unsigned char)value[0] == code)
                        return i;
                *ret_bytes = 2;
                if (code >= 0x80 && n > 1 && (unsigned char)value[0] == (0xc0 | code >> 6) &&
                    (unsigned char)value[1] == (0x80 | (code & 63)))
                        return i;
        }
        return 0;
}

static inline bool reference_is_escaped(const char *t, size_t len, const char *value, size_t n)
{
        size_t used = 0;
        for (size_t i = 0, step; i < len; i += step) {
                char out[4];
                size_t out_len;
                if (t[i] == '\\' && i + 1 < len && t[i + 1] >= '0' && t[i + 1] <= '7') {
                        step = reference_octal(t + i, len - i, value + used, n - used, &out_len);
                        if (step == 0)
                                return false;
                        used += out_len;
                        continue;
                }
                step = reference_unit(t + i, len - i, out, &out_len);
                if (step == 4 && t[i + 1] == 'x' && (unsigned char)out[0] >= 0x80 && used < n &&
                    out[0] != value[used]) {
                        /* not this byte, but perhaps the character of this number */
                        unsigned char c = (unsigned char)out[0];
                        out[0] = (char)(0xc0 | c >> 6);
                        out[1] = (char)(0x80 | (c & 63));
                        out_len = 2;
                }
                if (step == 0 || used + out_len > n || memcmp(out, value + used, out_len) != 0)
                        return false;
                used += out_len;
        }
        return used == n;
}

static inline bool reference_is_hex(const char *t, size_t len, const char *value, size_t n)
{
        size_t used = 0;
        for (size_t i = 0; i < len; i++) {
                size_t gap = i;
                while (used > 0 && used % 2 == 0 && i < len && i - gap < 2 && t[i] && strchr(" :-\n\r", t[i]))
                        i++;
                if (i == len || used == 2 * n)
                        return false;
                unsigned byte = (unsigned char)value[used / 2];
                if (reference_hex(t[i]) != (int)(used % 2 ? byte & 15 : byte >> 4))
                        return false;
                used++;
        }
        return used == 2 * n;
}

static inline int reference_digit(char c)
{
        static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const char *at = strchr(digits, c == '-' ? '+' : c == '_' ? '/' : c);
        return c && at ? (int)(at - digits) : -1;
}

static inline int reference_bit(const char *value, size_t i)
{
        return value[i / 8] >> (7 - i % 8) & 1;
}

/* Base64 of the value after so many bytes of something else: digits that are only the value's, and perhaps
 * those that it shares with what follows.  A line may end where a group does. */
static inline bool reference_is_base64(const char *t, size_t len, const char *value, size_t n, size_t before)
{
        size_t first = before == 0 ? 0 : before + 1, last = (before + n) * 8 / 6, digit = first, i = 0;
        for (; digit < last && i < len; digit++) {
                int want = 0, got = -1;
                size_t step = 1;
                if (digit - first >= 4 && digit % 4 == 0) {
                        if (t[i] == '\r' && i + 1 < len && t[i + 1] == '\n')
                                i++;
                        if (t[i] == '\n')
                                i++;
                        if (i >= len)
                                return false;
                }
                for (size_t k = 0; k < 6; k++)
                        want = want * 2 + reference_bit(value, digit * 6 + k - before * 8);
                if (t[i] == '%' && i + 2 < len && t[i + 1] == '2' && strchr("Bb", t[i + 2]))
                        got = 62, step = 3;
                else if (t[i] == '%' && i + 2 < len && t[i + 1] == '2' && strchr("Ff", t[i + 2]))
                        got = 63, step = 3;
                else if (t[i] == '\\' && i + 1 < len && t[i + 1] == '/')
                        got = 63, step = 2;
                else
                        got = reference_digit(t[i]);
                if (got != want)
                        return false;
                i += step;
        }
        size_t rest = (before + n) % 3, known = rest == 1 ? 2 : 4;
        if (digit < last || i == len || rest == 0)
                return digit == last && i == len;
        int got = reference_digit(t[i++]), want = 0;
        for (size_t k = 0; k < known; k++)
                want = want * 2 + reference_bit(value, digit * 6 + k - before * 8);
        if (got < 0 || got >> (6 - known) != want)
                return false;
        if (got & ((1 << (6 - known)) - 1))
                return i == len;
        for (size_t k = 0; k < 3 - rest && i < len && t[i] == '='; k++)
                i++;
        return i == len;
}

static inline bool reference_is_any(const char *text, size_t from, size_t len, const char *value, size_t n)
{
        const char *t = text + from;
        if (reference_is_raw(t, len, value, n) || reference_is_percent(t, len, value, n) ||
            reference_is_escaped(t, len, value, n) || reference_is_hex(t, len, value, n))
                return true;
        for (size_t before = 0; before < 3; before++)
                if (reference_is_base64(t, len, value, n, before))
                        return true;
        /* The rest of one that the end of a line cut in its first group. */
        for (size_t lost = 1; lost <= 2 && from > 0 && text[from - 1] == '\n'; lost++)
                if (n > lost && (n - lost) * 8 / 6 >= 6 &&
                    reference_is_base64(t, len, value + lost, n - lost, 0))
                        return true;
        return false;
}

/* Saves most of the time: whether this can be the first byte of any form. */
static inline bool reference_may_begin(char c, const char *value, size_t n)
{
        if (c == value[0] || (c && strchr("%\\+", c)) || reference_hex(c) == (unsigned char)value[0] >> 4)
                return true;
        for (size_t bit = 0; bit <= 16 && bit + 6 <= n * 8; bit += bit == 2   ? 2
                                                                   : bit == 4 ? 4
                                                                   : bit == 0 ? 2
                                                                              : 8) {
                int want = 0;
                for (size_t k = 0; k < 6; k++)
                        want = want * 2 + reference_bit(value, bit + k);
                if (reference_digit(c) == want)
                        return true;
        }
        return false;
}

/* Writes to out, which has room for len bytes.  Returns how many. */
static inline size_t reference_mask(const struct mask_value *values, size_t n_values, const char *text,
                                    size_t len, char *out)
{
        size_t used = 0, covered = 0;
        for (size_t from = 0; from < len; from++) {
                size_t end = 0;
                for (size_t v = 0; v < n_values; v++) {
                        size_t skip, n = mask_trim(values[v].text, values[v].len, &skip);
                        if (!reference_may_begin(text[from], values[v].text + skip, n))
                                continue;
                        size_t most = n * 10 + 8 < len - from ? n * 10 + 8 : len - from;
                        for (size_t size = most; size >= 4 && from + size > end; size--)
                                if (reference_is_any(text, from, size, values[v].text + skip, n)) {
                                        end = from + size;
                                        break;
                                }
                }
                if (end > 0 && from >= covered) {
                        memcpy(out + used, "***", 3);
                        used += 3;
                }
                if (end > covered)
                        covered = end;
                if (from >= covered)
                        out[used++] = text[from];
        }
        return used;
}

/* Whether some form of the value resembles itself for so long that mask_stream.c may take a short cut; then
 * not every position is tried, and the two may differ in what a form that is no encoder's covers. */
static inline bool reference_repeats(const struct mask_value *value)
{
        for (size_t period = 1; period + 4 <= value->len; period++) {
                size_t same = 0;
                while (period + same < value->len && value->text[same] == value->text[period + same])
                        same++;
                if (same >= 4)
                        return true;
        }
        return false;
}
