#include "secret/form.h"

#include <string.h>

#include "base/base64.h"
#include "base/hex.h"
#include "base/utf8.h"

#define LEAST 4      /* bytes; shorter values would match everywhere */
#define LATE_LEAST 6 /* same for the start of a line, in digits */
#define WRAP_LEAST 4 /* digits before a line break: else any line's end could start a value */
#define SEPARATORS_MAX 2

/* First digit that depends only on the value, by the number of bytes before it in the group. */
static const unsigned first_digit[] = {0, 2, 3};

static bool init_base64(struct form *f, unsigned shift)
{
        f->kind = FORM_BASE64;
        f->shift = shift;
        f->n = (shift + f->len) * 8 / 6 - first_digit[shift];
        return true;
}

bool form_init(struct form *f, unsigned which, const char *text, size_t len)
{
        if (len < LEAST)
                return false;
        *f = (struct form){.text = text, .len = (uint32_t)len, .n = (uint32_t)len};
        switch (which) {
        case 0:
                f->kind = FORM_RAW;
                return true;
        case 1:
                f->kind = FORM_PERCENT;
                return true;
        case 2:
                f->kind = FORM_ESCAPED;
                return true;
        case 3:
                f->kind = FORM_HEX;
                f->n = f->len * 2;
                return true;
        case 4:
        case 5:
        case 6:
                return init_base64(f, which - 4);
        default: /* the line ended after one or two bytes of the value */
                f->text += which - 6;
                f->len -= which - 6;
                f->line_start = true;
                return init_base64(f, 0) && f->n >= LATE_LEAST;
        }
}

static unsigned byte_at(const struct form *f, uint32_t i)
{
        return (unsigned char)f->text[i];
}

static unsigned six_bits(const struct form *f, uint32_t i)
{
        uint32_t bit = (first_digit[f->shift] + i) * 6 - f->shift * 8, at = bit / 8;
        unsigned two = byte_at(f, at) << 8 | (at + 1 < f->len ? byte_at(f, at + 1) : 0);
        return two >> (10 - bit % 8) & 63;
}

unsigned form_symbol(const struct form *f, uint32_t i)
{
        if (f->kind == FORM_BASE64)
                return six_bits(f, i);
        if (f->kind == FORM_HEX)
                return byte_at(f, i / 2) >> (i % 2 ? 0 : 4) & 15;
        return byte_at(f, i);
}

/* Also of the alphabet for URLs. */
static int any_base64_value(char c)
{
        return base64_value((char)(c == '-' ? '+' : c == '_' ? '/' : c));
}

/* ---- each form ---- */

static int read_raw(const struct form *f, uint32_t i, const char *t, size_t len)
{
        if (t[0] == f->text[i])
                return 1;
        if (f->text[i] != '\n' || t[0] != '\r')
                return 0;
        return len < 2 ? FORM_MORE : t[1] == '\n' ? 2 : 0;
}

/* Reads the two digits of this byte after a %. */
static int read_hex_byte(unsigned byte, const char *t, size_t len)
{
        if (len < 1)
                return FORM_MORE;
        if (hex_value(t[0]) != (int)(byte >> 4))
                return 0;
        if (len < 2)
                return FORM_MORE;
        return hex_value(t[1]) == (int)(byte & 15) ? 2 : 0;
}

static int read_percent(const struct form *f, uint32_t i, const char *t, size_t len)
{
        if (t[0] != '%')
                return t[0] == f->text[i] || (t[0] == '+' && f->text[i] == ' ');
        int n = read_hex_byte(byte_at(f, i), t + 1, len - 1);
        return n > 0 ? 1 + n : n;
}

/* Reads this number of hexadecimal digits. */
static int read_number(const char *t, size_t len, size_t digits, uint32_t *ret)
{
        *ret = 0;
        for (size_t k = 0; k < digits; k++) {
                if (k >= len)
                        return FORM_MORE;
                int v = hex_value(t[k]);
                if (v < 0)
                        return 0;
                *ret = *ret << 4 | (uint32_t)v;
        }
        return (int)digits;
}

/* Reads \u with four digits (and the second half of a surrogate pair) or \U with eight. */
static int read_character(const char *t, size_t len, uint32_t *ret)
{
        uint32_t low = 0;
        int n = read_number(t + 2, len - 2, t[1] == 'U' ? 8 : 4, ret);
        if (n <= 0)
                return n;
        n += 2;
        if (*ret < 0xd800 || *ret > 0xdbff)
                return n;
        t += n;
        len -= (size_t)n;
        for (size_t k = 0; k < 2; k++) {
                if (k == len)
                        return FORM_MORE;
                if (t[k] != "\\u"[k])
                        return 0;
        }
        int more = read_number(t + 2, len - 2, 4, &low);
        if (more <= 0)
                return more;
        if (low < 0xdc00 || low > 0xdfff)
                return 0;
        *ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
        return n + 2 + more;
}

/* Returns true if the value continues with this character; *ret_symbols is its number of bytes. */
static bool has_character(const struct form *f, uint32_t i, uint32_t c, uint32_t *ret_symbols)
{
        char bytes[4];
        size_t size = c <= 0x10ffff ? utf8_put(bytes, c) : 0;
        *ret_symbols = (uint32_t)size;
        return size > 0 && size <= f->len - i && !memcmp(bytes, f->text + i, size);
}

/* \x41: a byte, or the character with that number. */
static int read_byte(const struct form *f, uint32_t i, const char *t, size_t len, uint32_t *ret_symbols)
{
        uint32_t c = 0;
        int n = read_number(t + 2, len - 2, 2, &c);
        if (n <= 0)
                return n;
        return byte_at(f, i) == c || has_character(f, i, c, ret_symbols) ? 2 + n : 0;
}

/* Checks that t starts with these digits. */
static int read_digits(const char *digits, size_t n, const char *t, size_t len)
{
        if (memcmp(digits, t, n < len ? n : len) != 0)
                return 0;
        return n <= len ? (int)n : FORM_MORE;
}

/* A byte in octal: three digits, or three after a zero, as in echo. */
static int read_octal_number(unsigned c, const char *t, size_t len)
{
        const char digits[4] = {'0', (char)('0' + (c >> 6)), (char)('0' + (c >> 3 & 7)),
                                (char)('0' + (c & 7))};
        int n = read_digits(digits + 1, 3, t, len);
        return n != 0 ? n : read_digits(digits, 4, t, len);
}

/* After a backslash: a byte, or the character with that number. */
static int read_octal(const struct form *f, uint32_t i, const char *t, size_t len, uint32_t *ret_symbols)
{
        const unsigned byte = byte_at(f, i);
        int n = read_octal_number(byte, t, len);
        if (n <= 0 && (byte == 0xc2 || byte == 0xc3) && i + 1 < f->len && byte_at(f, i + 1) >> 6 == 2) {
                int other = read_octal_number((byte & 3) << 6 | (byte_at(f, i + 1) & 63), t, len);
                if (other > 0)
                        *ret_symbols = 2;
                n = other != 0 ? other : n;
        }
        return n;
}

static int read_escaped(const struct form *f, uint32_t i, const char *t, size_t len, uint32_t *ret_symbols)
{
        static const char letters[] = "nrtbfvae", mean[] = "\n\r\t\b\f\v\a\x1b";
        uint32_t c = 0;
        if (t[0] != '\\')
                return t[0] == f->text[i];
        if (len < 2)
                return FORM_MORE;
        if (t[1] == 'x')
                return read_byte(f, i, t, len, ret_symbols);
        if (t[1] == 'u' || t[1] == 'U') {
                int n = read_character(t, len, &c);
                return n > 0 && !has_character(f, i, c, ret_symbols) ? 0 : n;
        }
        if (t[1] >= '0' && t[1] <= '7') {
                int n = read_octal(f, i, t + 1, len - 1, ret_symbols);
                return n > 0 ? 1 + n : n;
        }
        for (size_t k = 0; letters[k]; k++)
                if (t[1] == letters[k])
                        return f->text[i] == mean[k] ? 2 : 0;
        return t[1] == f->text[i] ? 2 : 0; /* a backslash before any other character is ignored */
}

static int read_hex(const struct form *f, uint32_t i, const char *t, size_t len)
{
        size_t at = 0;
        while (i >= 2 && i % 2 == 0 && at < SEPARATORS_MAX && at < len &&
               (t[at] == ' ' || t[at] == ':' || t[at] == '-' || t[at] == '\n' || t[at] == '\r'))
                at++;
        if (at == len)
                return FORM_MORE;
        return hex_value(t[at]) == (int)form_symbol(f, i) ? (int)at + 1 : 0;
}

/* The two digits that are not letters or digits (+ and /) may be escaped in turn. */
static int read_digit(unsigned digit, const char *t, size_t len)
{
        if (any_base64_value(t[0]) == (int)digit)
                return 1;
        if (digit == 63 && t[0] == '\\')
                return len < 2 ? FORM_MORE : t[1] == '/' ? 2 : 0;
        if (digit < 62 || t[0] != '%')
                return 0;
        int n = read_hex_byte(digit == 62 ? '+' : '/', t + 1, len - 1);
        return n > 0 ? 1 + n : n;
}

static int read_base64(const struct form *f, uint32_t i, const char *t, size_t len)
{
        size_t at = 0;
        if (i >= WRAP_LEAST && (first_digit[f->shift] + i) % 4 == 0) {
                at += t[0] == '\r';
                if (at == len)
                        return FORM_MORE;
                if (t[at] == '\n')
                        at++;
                else if (at > 0)
                        return 0;
                if (at == len)
                        return FORM_MORE;
        }
        int n = read_digit(six_bits(f, i), t + at, len - at);
        return n > 0 ? (int)at + n : n;
}

int form_read(const struct form *f, uint32_t i, const char *text, size_t len, uint32_t *ret_symbols)
{
        *ret_symbols = 1;
        switch (f->kind) {
        case FORM_RAW:
                return read_raw(f, i, text, len);
        case FORM_PERCENT:
                return read_percent(f, i, text, len);
        case FORM_ESCAPED:
                return read_escaped(f, i, text, len, ret_symbols);
        case FORM_HEX:
                return read_hex(f, i, text, len);
        case FORM_BASE64:
                return read_base64(f, i, text, len);
        }
        return 0;
}

int form_tail(const struct form *f, const char *text, size_t len, bool all)
{
        unsigned rest = f->kind == FORM_BASE64 ? (f->shift + f->len) % 3 : 0;
        if (rest == 0)
                return 0;
        if (len == 0)
                return all ? 0 : FORM_MORE;
        /* The last two or four bits of the value, and the following bits. */
        unsigned last = byte_at(f, f->len - 1), shared = rest == 1 ? 4 : 2;
        int digit = any_base64_value(text[0]);
        if (digit < 0 || (unsigned)digit >> shared != (last & (rest == 1 ? 3u : 15u)))
                return 0;
        if ((unsigned)digit & ((1u << shared) - 1))
                return 1; /* more data follows, so there is no padding */
        size_t at = 1;
        while (at < len && at <= 3 - rest && text[at] == '=')
                at++;
        return at == len && at <= 3 - rest && !all ? FORM_MORE : (int)at;
}

/* ---- possible first bytes ---- */

static const char hex_digits[] = "0123456789abcdef0123456789ABCDEF";
static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

struct bytes {
        char *list;
        size_t n;
};

static void secret_form_add(struct bytes *b, char c)
{
        for (size_t i = 0; i < b->n; i++)
                if (b->list[i] == c)
                        return;
        b->list[b->n++] = c;
}

static void add_all(struct bytes *b, const char *text)
{
        for (; *text; text++)
                secret_form_add(b, *text);
}

static void add_hex(struct bytes *b, unsigned digit)
{
        secret_form_add(b, hex_digits[digit]);
        secret_form_add(b, hex_digits[digit + 16]);
}

/* Adds the digit after the backslash of an octal escape: of the byte, or of the character that it starts. */
static void add_octal(struct bytes *b, unsigned byte)
{
        secret_form_add(b, '0');
        secret_form_add(b, (char)('0' + (byte >> 6)));
        if (byte == 0xc2 || byte == 0xc3) /* U+0080 to U+00FF */
                add_all(b, "23");
}

/* Adds the possible first and second bytes of a symbol. */
static void add_symbol(struct bytes *b, const struct form *f, uint32_t i)
{
        unsigned symbol = form_symbol(f, i);
        switch (f->kind) {
        case FORM_RAW:
                secret_form_add(b, f->text[i]);
                add_all(b, "\r\n");
                break;
        case FORM_PERCENT:
                secret_form_add(b, f->text[i]);
                add_hex(b, symbol >> 4);
                add_all(b, "%+");
                break;
        case FORM_ESCAPED:
                secret_form_add(b, f->text[i]);
                add_all(b, "\\uUxnrtbfvae");
                add_octal(b, symbol);
                break;
        case FORM_HEX:
                add_hex(b, symbol);
                break;
        case FORM_BASE64:
                if (symbol < 62)
                        secret_form_add(b, base64_digits[symbol]);
                else
                        add_all(b, symbol == 62 ? "+-%2" : "/_%2\\");
                break;
        }
}

size_t form_first_bytes(const struct form *f, char ret[FORM_BYTES_MAX])
{
        struct bytes bytes = {.list = ret};
        add_symbol(&bytes, f, 0);
        add_symbol(&bytes, f, 1);
        return bytes.n;
}
