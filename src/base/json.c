#include "base/json.h"

#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"

/* What stands for a byte that cannot be in a string as itself. */
static const char *escape(unsigned char c, char buffer[8])
{
        static const char hex[] = "0123456789abcdef";
        switch (c) {
        case '"':
                return "\\\"";
        case '\\':
                return "\\\\";
        case '\n':
                return "\\n";
        case '\r':
                return "\\r";
        case '\t':
                return "\\t";
        default:
                memcpy(buffer, "\\u00", 4);
                buffer[4] = hex[c >> 4];
                buffer[5] = hex[c & 15];
                buffer[6] = '\0';
                return buffer;
        }
}

/* How many bytes at p stand for themselves, each alone. */
static size_t plain_len(const unsigned char *p, const unsigned char *end)
{
        const unsigned char *at = p;
        while (at < end && *at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\')
                at++;
        return (size_t)(at - p);
}

struct block {
        FILE *out;
        size_t used;
        char text[4096];
};

static void flush(struct block *b)
{
        fwrite(b->text, 1, b->used, b->out);
        b->used = 0;
}

static void add(struct block *b, const char *text, size_t len)
{
        if (len > sizeof b->text - b->used)
                flush(b);
        if (len > sizeof b->text) {
                fwrite(text, 1, len, b->out);
                return;
        }
        memcpy(b->text + b->used, text, len);
        b->used += len;
}

/* Through a block of our own: output can be a megabyte of newlines, and a call of stdio for
 * each costs more than the run did.  And run by run: most of it is plain. */
static void quoted(FILE *out, const char *data, size_t len)
{
        const unsigned char *p = (const unsigned char *)data, *end = p + len;
        struct block b; /* its text is not to be zeroed for each key */
        char buffer[8];
        b.out = out;
        b.used = 0;
        add(&b, "\"", 1);
        while (p < end) {
                size_t n = plain_len(p, end);
                if (n > 0) {
                        add(&b, (const char *)p, n);
                        p += n;
                        continue;
                }
                n = utf8_len((const char *)p, (size_t)(end - p));
                const char *from = n == 0 ? "\xef\xbf\xbd" : n == 1 ? escape(*p, buffer) : (const char *)p;
                add(&b, from, n > 1 ? n : strlen(from));
                p += n ? n : 1;
        }
        add(&b, "\"", 1);
        flush(&b);
}

static void begin(struct json *j, const char *key)
{
        if (j->more)
                fputs(", ", j->out);
        j->more = true;
        if (key) {
                quoted(j->out, key, strlen(key));
                fputs(": ", j->out);
        }
}

void json_put_open(struct json *j, const char *key, char bracket)
{
        begin(j, key);
        putc(bracket, j->out);
        j->more = false;
}

void json_put_close(struct json *j, char bracket)
{
        putc(bracket, j->out);
        j->more = true;
}

void json_put_bytes(struct json *j, const char *key, const char *data, size_t len)
{
        begin(j, key);
        quoted(j->out, data, len);
}

void json_put_string(struct json *j, const char *key, const char *text)
{
        json_put_bytes(j, key, text, strlen(text));
}

void json_put_base64(struct json *j, const char *key, const char *data, size_t len)
{
        char block[BASE64_LEN(3072)];
        begin(j, key);
        putc('"', j->out);
        for (size_t at = 0; at < len; at += 3072) {
                size_t n = len - at < 3072 ? len - at : 3072;
                base64_encode(data + at, n, block);
                fwrite(block, 1, BASE64_LEN(n), j->out);
        }
        putc('"', j->out);
}

void json_put_number(struct json *j, const char *key, uint64_t value)
{
        begin(j, key);
        fprintf(j->out, "%llu", (unsigned long long)value);
}

void json_put_real(struct json *j, const char *key, double value)
{
        begin(j, key);
        fprintf(j->out, "%.3f", value);
}

void json_put_bool(struct json *j, const char *key, bool value)
{
        begin(j, key);
        fputs(value ? "true" : "false", j->out);
}

void json_put_null(struct json *j, const char *key)
{
        begin(j, key);
        fputs("null", j->out);
}

void json_put_raw(struct json *j, const char *key, const char *json, size_t len)
{
        begin(j, key);
        fwrite(json, 1, len, j->out);
}
