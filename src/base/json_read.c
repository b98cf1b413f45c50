#include "base/json_read.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/hex.h"
#include "base/utf8.h"

#define FIRST_VALUES 32
#define NUMBER_MAX 400 /* in characters; the longest meaningful number has about 330 */

struct reader {
        char *at, *end, *begin;
        struct json_value *values;
        size_t n, size, max;
        unsigned depth;
        struct cella_err *err;
};

static int bad(const struct reader *r, const char *what)
{
        return err_say(r->err, CELLA_INVALID_REQUEST, -EINVAL, "not JSON at byte %zu: %s",
                       (size_t)(r->at - r->begin), what);
}

static void space(struct reader *r)
{
        while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
                r->at++;
}

static bool take(struct reader *r, char c)
{
        if (r->at == r->end || *r->at != c)
                return false;
        r->at++;
        return true;
}

/* Appends a value to the array.  *ret is its index, not a pointer, because the array may move. */
static int add(struct reader *r, enum json_type type, size_t *ret)
{
        if (r->n == r->max) {
                err_say(r->err, CELLA_TOO_LARGE, -E2BIG, "JSON of more than %zu values", r->max);
                return -E2BIG;
        }
        if (r->n == r->size) {
                size_t size = r->size ? r->size * 2 : FIRST_VALUES;
                if (size > r->max)
                        size = r->max;
                struct json_value *values = realloc(r->values, size * sizeof *values);
                if (!values) {
                        err_set(r->err, CELLA_INTERNAL, -ENOMEM, "JSON");
                        return -ENOMEM;
                }
                r->values = values;
                r->size = size;
        }
        r->values[r->n] = (struct json_value){.type = type, .span = 1};
        *ret = r->n++;
        return 0;
}

/* Returns the value of four hexadecimal digits, or -1. */
static int hex4(const struct reader *r, const char *p)
{
        int value = 0;
        if (r->end - p < 4)
                return -1;
        for (int i = 0; i < 4; i++) {
                int digit = hex_value(p[i]);
                if (digit < 0)
                        return -1;
                value = value << 4 | digit;
        }
        return value;
}

/* Reads one character, or a surrogate pair of two escapes, after "\u".  The character in UTF-8 is never
 * longer than its escape sequence. */
static int unescape_unicode(struct reader *r, char **out)
{
        int first = hex4(r, r->at), second;
        if (first < 0)
                return bad(r, "\\u needs four hexadecimal digits");
        r->at += 4;
        uint32_t c = (uint32_t)first;
        if (first >= 0xdc00 && first <= 0xdfff)
                return bad(r, "half of a surrogate pair");
        if (first >= 0xd800 && first <= 0xdbff) {
                if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u' ||
                    (second = hex4(r, r->at + 2)) < 0xdc00 || second > 0xdfff)
                        return bad(r, "half of a surrogate pair");
                c = 0x10000 + ((c - 0xd800) << 10) + ((uint32_t)second - 0xdc00);
                r->at += 6;
        }
        *out += utf8_put(*out, c);
        return 0;
}

static int unescape(struct reader *r, char **out)
{
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        if (r->at == r->end)
                return bad(r, "the string does not end");
        char c = *r->at++;
        if (c == 'u')
                return unescape_unicode(r, out);
        const char *found = c ? strchr(from, c) : NULL;
        if (!found)
                return bad(r, "unknown escape");
        *(*out)++ = to[found - from];
        return 0;
}

/* Returns the number of bytes from here on that can be copied unchanged: usually most of the string. */
static size_t plain(const struct reader *r)
{
        const char *p = r->at;
        while (p < r->end && (signed char)*p >= 0x20 && *p != '"' && *p != '\\')
                p++;
        return (size_t)(p - r->at);
}

/* Reads a string; the opening quote has been read. */
static int read_string(struct reader *r, size_t index)
{
        char *text = r->at, *out = text;
        for (;;) {
                if (r->at == r->end)
                        return bad(r, "the string does not end");
                unsigned char c = (unsigned char)*r->at;
                if (c == '"')
                        break;
                if (c < 0x20)
                        return bad(r, "a control character in a string");
                if (c == '\\') {
                        r->at++;
                        int e = unescape(r, &out);
                        if (e < 0)
                                return e;
                        continue;
                }
                size_t n = plain(r);
                if (n == 0)
                        n = utf8_len(r->at, (size_t)(r->end - r->at));
                if (n == 0)
                        return bad(r, "a string that is not UTF-8");
                if (out != r->at)
                        memmove(out, r->at, n);
                out += n;
                r->at += n;
        }
        *out = '\0'; /* overwrites the closing quote at the latest */
        r->at++;
        r->values[index].text = text;
        r->values[index].len = (uint32_t)(out - text);
        return 0;
}

static size_t digits(struct reader *r)
{
        const char *from = r->at;
        while (r->at < r->end && *r->at >= '0' && *r->at <= '9')
                r->at++;
        return (size_t)(r->at - from);
}

static int read_number(struct reader *r, size_t index)
{
        const char *from = r->at;
        char copy[NUMBER_MAX + 1];
        bool whole = true;
        take(r, '-');
        if (take(r, '0') ? false : digits(r) == 0)
                return bad(r, "a number without digits");
        if (take(r, '.')) {
                whole = false;
                if (digits(r) == 0)
                        return bad(r, "a number without digits after its point");
        }
        if (take(r, 'e') || take(r, 'E')) {
                whole = false;
                if (!take(r, '+'))
                        take(r, '-');
                if (digits(r) == 0)
                        return bad(r, "a number without digits in its exponent");
        }
        size_t len = (size_t)(r->at - from);
        if (len > NUMBER_MAX)
                return bad(r, "a number that is too long");
        memcpy(copy, from, len);
        copy[len] = '\0';
        struct json_value *v = &r->values[index];
        v->real = strtod(copy, NULL);
        if (!isfinite(v->real))
                return bad(r, "a number that is too large");
        errno = 0;
        v->integer = whole ? strtoll(copy, NULL, 10) : 0;
        v->is_integer = whole && errno == 0;
        return 0;
}

static int read_value(struct reader *r);

/* Reads a container up to and including the closing bracket; the opening one has been read. */
static int read_container(struct reader *r, size_t index, char close)
{
        uint32_t n = 0;
        size_t name = 0;
        int e;
        if (++r->depth > JSON_DEPTH_MAX)
                return err_say(r->err, CELLA_TOO_LARGE, -E2BIG, "JSON deeper than %d", JSON_DEPTH_MAX);
        space(r);
        if (!take(r, close)) {
                do {
                        space(r);
                        if (close == '}') {
                                if (!take(r, '"'))
                                        return bad(r, "a name is missing");
                                if ((e = add(r, JSON_STRING, &name)) < 0 || (e = read_string(r, name)) < 0)
                                        return e;
                                space(r);
                                if (!take(r, ':'))
                                        return bad(r, "':' is missing");
                        }
                        if ((e = read_value(r)) < 0)
                                return e;
                        n++;
                        space(r);
                } while (take(r, ','));
                if (!take(r, close))
                        return bad(r, close == '}' ? "',' or '}' is missing" : "',' or ']' is missing");
        }
        r->depth--;
        r->values[index].n = n;
        r->values[index].span = (uint32_t)(r->n - index);
        return 0;
}

static int read_word(struct reader *r, const char *word)
{
        size_t len = strlen(word);
        if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
                return bad(r, "a value is missing");
        r->at += len;
        return 0;
}

static int read_value(struct reader *r)
{
        size_t index = 0;
        space(r);
        char c = '\0';
        if (r->at < r->end)
                c = *r->at;
        enum json_type type = c == '{'               ? JSON_OBJECT
                              : c == '['             ? JSON_ARRAY
                              : c == '"'             ? JSON_STRING
                              : c == 't' || c == 'f' ? JSON_BOOL
                              : c == 'n'             ? JSON_NULL
                                                     : JSON_NUMBER;
        if (type == JSON_NUMBER && c != '-' && (c < '0' || c > '9'))
                return bad(r, "a value is missing");
        int e = add(r, type, &index);
        if (e < 0)
                return e;
        switch (type) {
        case JSON_OBJECT:
        case JSON_ARRAY:
                r->at++;
                return read_container(r, index, (char)(type == JSON_OBJECT ? '}' : ']'));
        case JSON_STRING:
                r->at++;
                return read_string(r, index);
        case JSON_BOOL:
                r->values[index].real = c == 't';
                return read_word(r, c == 't' ? "true" : "false");
        case JSON_NULL:
                return read_word(r, "null");
        default:
                return read_number(r, index);
        }
}

int json_read(char *text, size_t len, size_t values_max, struct json_doc *ret, struct cella_err *err)
{
        struct reader r = {.at = text, .end = text + len, .begin = text, .max = values_max, .err = err};
        int e = len > JSON_TEXT_MAX || values_max > JSON_TEXT_MAX
                        ? err_say(err, CELLA_TOO_LARGE, -E2BIG, "JSON of %zu bytes", len)
                        : read_value(&r);
        if (e == 0) {
                space(&r);
                if (r.at < r.end)
                        e = bad(&r, "more after the end");
        }
        if (e < 0) {
                free(r.values);
                return e;
        }
        *ret = (struct json_doc){.values = r.values, .n = r.n};
        return 0;
}

void json_doc_done(struct json_doc *doc)
{
        free(doc->values);
        *doc = (struct json_doc){0};
}

const struct json_value *json_first(const struct json_value *c)
{
        return c && (c->type == JSON_ARRAY || c->type == JSON_OBJECT) && c->n > 0 ? c + 1 : NULL;
}

const struct json_value *json_next(const struct json_value *c, const struct json_value *v)
{
        if (c->type == JSON_OBJECT)
                v++;
        v += v->span;
        return v < c + c->span ? v : NULL;
}

const struct json_value *json_get(const struct json_value *object, const char *name)
{
        if (!object || object->type != JSON_OBJECT)
                return NULL;
        size_t len = strlen(name);
        for (const struct json_value *v = json_first(object); v; v = json_next(object, v))
                if (v->len == len && !memcmp(v->text, name, len))
                        return v + 1;
        return NULL;
}

const char *json_get_string(const struct json_value *object, const char *name)
{
        const struct json_value *v = json_get(object, name);
        return v && v->type == JSON_STRING ? v->text : NULL;
}

bool json_get_bool(const struct json_value *object, const char *name)
{
        const struct json_value *v = json_get(object, name);
        return v && v->type == JSON_BOOL && v->real != 0;
}

bool json_get_integer(const struct json_value *object, const char *name, int64_t *ret)
{
        const struct json_value *v = json_get(object, name);
        if (!v || v->type != JSON_NUMBER || !v->is_integer)
                return false;
        *ret = v->integer;
        return true;
}

bool json_get_real(const struct json_value *object, const char *name, double *ret)
{
        const struct json_value *v = json_get(object, name);
        if (!v || v->type != JSON_NUMBER)
                return false;
        *ret = v->real;
        return true;
}
