#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

/* Each stream is used by one thread only, so the unlocked functions of stdio are enough.  Its lock would be
 * taken several times for each value. */

/* ---- strings ---- */

/* For each byte, the character after the backslash in its escape sequence; 'u': \u00xx; 0: the byte needs
 * no escape, alone or as part of a UTF-8 character. */
static const char escapes[256] = {
        [0 ... 0x08] = 'u',    ['\t'] = 't', ['\n'] = 'n',  [0x0b ... 0x0c] = 'u', ['\r'] = 'r',
        [0x0e ... 0x1f] = 'u', ['"'] = '"',  ['\\'] = '\\', [0x7f] = 'u',
};

#define ALL(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Sets the highest bit of each byte that cannot be copied unchanged.  Only the lowest bit set is reliable:
 * a carry can set bits above it. */
static uint64_t odd_bytes(uint64_t eight)
{
        const uint64_t quote = eight ^ ALL('"'), backslash = eight ^ ALL('\\');
        const uint64_t found = ((eight - ALL(0x20)) & ~eight) | ((quote - ALL(1)) & ~quote) |
                               ((backslash - ALL(1)) & ~backslash) | (eight + ALL(1)) | eight;
        return found & ALL(0x80);
}

/* Output buffer.  Text can be a megabyte of newlines, and a stdio call for each would cost more than the
 * run. */
struct block {
        FILE *out;
        size_t used;
        char text[4096];
};

#define STEP_MAX 8 /* bytes read in one step; less than twice as many are written */

static void json_flush(struct block *b)
{
        fwrite_unlocked(b->text, 1, b->used, b->out);
        b->used = 0;
}

static void json_add(struct block *b, const char *text, size_t len)
{
        memcpy(b->text + b->used, text, len);
        b->used += len;
}

static void add_escape(struct block *b, unsigned char c)
{
        static const char hex[] = "0123456789abcdef";
        const char short_form[] = {'\\', escapes[c]},
                   long_form[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        if (escapes[c] == 'u')
                json_add(b, long_form, sizeof long_form);
        else
                json_add(b, short_form, sizeof short_form);
}

/* Writes one byte or character, escaped if necessary.  Returns the number of bytes consumed. */
static size_t add_one(struct block *b, const char *p, size_t left)
{
        const unsigned char c = (unsigned char)*p;
        if (escapes[c]) {
                add_escape(b, c);
                return 1;
        }
        if (c < 0x80) {
                b->text[b->used++] = *p;
                return 1;
        }
        size_t n = utf8_len(p, left);
        if (n == 0)
                json_add(b, "\xef\xbf\xbd", 3);
        else
                json_add(b, p, n);
        return n > 0 ? n : 1;
}

/* Writes a quoted string.  Copies eight bytes at a time where none of them needs an escape. */
static void quoted(FILE *out, const char *data, size_t len)
{
        const char *p = data, *end = data + len;
        struct block b; /* not initialised: clearing the text for each key is too slow */
        b.out = out;
        b.text[0] = '"';
        b.used = 1;
        while (p < end) {
                if (b.used > sizeof b.text - 2 * STEP_MAX)
                        json_flush(&b);
                if (end - p < STEP_MAX) {
                        p += add_one(&b, p, (size_t)(end - p));
                        continue;
                }
                uint64_t eight;
                memcpy(&eight, p, sizeof eight);
                const uint64_t odd = odd_bytes(eight);
                const size_t plain = odd ? (size_t)__builtin_ctzll(odd) / 8 : sizeof eight;
                memcpy(b.text + b.used, &eight,
                       sizeof eight); /* bytes behind the plain ones are overwritten later */
                b.used += plain;
                p += plain;
                if (odd)
                        p += add_one(&b, p, (size_t)(end - p));
        }
        b.text[b.used++] = '"';
        json_flush(&b);
}

/* ---- values ---- */

static void json_begin(struct json *j, const char *key)
{
        if (j->more)
                fputs_unlocked(", ", j->out);
        j->more = true;
        if (key) {
                quoted(j->out, key, strlen(key));
                fputs_unlocked(": ", j->out);
        }
}

void json_put_open(struct json *j, const char *key, char bracket)
{
        json_begin(j, key);
        putc_unlocked(bracket, j->out);
        j->more = false;
}

void json_put_close(struct json *j, char bracket)
{
        putc_unlocked(bracket, j->out);
        j->more = true;
}

void json_put_bytes(struct json *j, const char *key, const char *data, size_t len)
{
        json_begin(j, key);
        quoted(j->out, data, len);
}

void json_put_string(struct json *j, const char *key, const char *text)
{
        json_put_bytes(j, key, text, strlen(text));
}

void json_put_base64(struct json *j, const char *key, const char *data, size_t len)
{
        char block[BASE64_LEN(3072)];
        json_begin(j, key);
        putc_unlocked('"', j->out);
        for (size_t at = 0; at < len; at += 3072) {
                size_t n = len - at < 3072 ? len - at : 3072;
                base64_encode(data + at, n, block);
                fwrite_unlocked(block, 1, BASE64_LEN(n), j->out);
        }
        putc_unlocked('"', j->out);
}

void json_put_number(struct json *j, const char *key, uint64_t value)
{
        json_begin(j, key);
        fprintf(j->out, "%llu", (unsigned long long)value);
}

void json_put_real(struct json *j, const char *key, double value)
{
        json_begin(j, key);
        fprintf(j->out, "%.3f", value);
}

void json_put_bool(struct json *j, const char *key, bool value)
{
        json_begin(j, key);
        fputs_unlocked(value ? "true" : "false", j->out);
}

void json_put_null(struct json *j, const char *key)
{
        json_begin(j, key);
        fputs_unlocked("null", j->out);
}

void json_put_raw(struct json *j, const char *key, const char *json, size_t len)
{
        json_begin(j, key);
        fwrite_unlocked(json, 1, len, j->out);
}

/* ---- into memory ---- */

#define TEXT_MIN 1024

static bool reserve(struct json_text *text, size_t more)
{
        if (text->size - text->len > more) /* includes the NUL */
                return true;
        size_t size = text->size * 2;
        if (size - text->len <= more)
                size = text->len + more + 1;
        char *larger = realloc(text->data, size);
        if (!larger)
                return false;
        text->data = larger;
        text->size = size;
        return true;
}

static ssize_t write_text(void *cookie, const char *data, size_t len)
{
        struct json_text *text = cookie;
        if (!text->data || len > SIZE_MAX / 4 - text->len || !reserve(text, len)) {
                free(text->data);
                text->data = NULL;
                return 0; /* 0 means an error */
        }
        memcpy(text->data + text->len, data, len);
        text->len += len;
        text->data[text->len] = '\0';
        return (ssize_t)len;
}

FILE *json_text_open(struct json_text *ret, size_t expected)
{
        const cookie_io_functions_t functions = {.write = write_text};
        *ret = (struct json_text){.size = expected < TEXT_MIN ? TEXT_MIN : expected + 1};
        ret->data = malloc(ret->size);
        FILE *out = ret->data ? fopencookie(ret, "w", functions) : NULL;
        if (out) {
                ret->data[0] = '\0';
        } else {
                free(ret->data);
                ret->data = NULL;
        }
        return out;
}
