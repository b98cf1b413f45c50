#include "scan/value.h"

#include <ctype.h>
#include <string.h>

#include "base/base64.h"

void values_add(struct values *values, const struct value *value)
{
        for (unsigned i = 0; i < values->n; i++) {
                struct value *v = &values->v[i];
                if (v->kind == value->kind && v->len == value->len && v->kind != VALUE_LIST &&
                    (v->text == value->text ||
                     (v->text && value->text && !memcmp(v->text, value->text, v->len)))) {
                        v->decoded |= value->decoded;
                        return;
                }
        }
        if (values->n < VALUES_MAX)
                values->v[values->n++] = *value;
        else
                values->other = true;
}

void values_add_all(struct values *values, const struct values *more)
{
        for (unsigned i = 0; i < more->n; i++)
                values_add(values, &more->v[i]);
        values->other |= more->other;
}

static char *scan_value_copy(struct arena *arena, const char *text, size_t len)
{
        char *to = len <= VALUE_TEXT_MAX ? arena_alloc(arena, len + 1) : NULL;
        if (to)
                memcpy(to, text, len);
        return to;
}

static void scan_value_add(struct values *values, enum value_kind kind, const char *text, size_t len,
                           bool decoded)
{
        const struct value value = {.kind = kind, .text = text, .len = (uint32_t)len, .decoded = decoded};
        if (text)
                values_add(values, &value);
        else
                values->other = true;
}

void values_add_text(struct values *values, struct arena *arena, enum value_kind kind, const char *text,
                     size_t len)
{
        scan_value_add(values, kind, scan_value_copy(arena, text, len), len, false);
}

void values_add_member(struct values *values, struct arena *arena, const struct value *object,
                       const char *member, size_t len)
{
        size_t total = object->len + 1 + len;
        /* No known name is this long; without a limit a chain of members would cost quadratic time. */
        char *text = total <= 200 ? arena_alloc(arena, total + 1) : NULL;
        if (text) {
                memcpy(text, object->text, object->len);
                text[object->len] = '.';
                memcpy(text + object->len + 1, member, len);
        }
        scan_value_add(values, VALUE_NAME, text, total, false);
}

bool value_is_name(const struct value *value, const char *name)
{
        return value->kind == VALUE_NAME && !strcmp(value->text, name);
}

bool values_are_number(const struct values *values)
{
        return values->n == 1 && values->v[0].kind == VALUE_NUMBER && !values->other;
}

/* ---- joining ---- */

static bool as_text(const struct value *value, const char **ret, size_t *ret_len)
{
        if (value->kind == VALUE_NUMBER && !value->text) {
                *ret = "0"; /* the number is unknown, but it consists of digits */
                *ret_len = 1;
                return true;
        }
        *ret = value->text;
        *ret_len = value->len;
        return value->kind != VALUE_LIST && value->kind != VALUE_NAME && value->text;
}

static void join_one(struct values *ret, struct arena *arena, enum join join, const struct value *left,
                     const struct value *right)
{
        const char *a, *b;
        size_t a_len, b_len;
        enum value_kind kind =
                left->kind == VALUE_PATH || right->kind == VALUE_PATH ? VALUE_PATH : VALUE_TEXT;
        bool decoded = left->decoded || right->decoded;
        if (!as_text(left, &a, &a_len) || !as_text(right, &b, &b_len)) {
                if (decoded)
                        values_add(ret, &(struct value){.kind = VALUE_BYTES, .decoded = true});
                else
                        ret->other = true;
                return;
        }
        /* Nothing to copy; a constant in the text stays where it is. */
        if (kind == VALUE_TEXT && join == JOIN_CONCAT && (a_len == 0 || b_len == 0)) {
                scan_value_add(ret, kind, a_len == 0 ? b : a, a_len + b_len, decoded);
                return;
        }
        if (join == JOIN_PATH && b_len > 0 && b[0] == '/')
                a_len = 0; /* an absolute path replaces the path before it */
        bool slash = join == JOIN_PATH && a_len > 0 && a[a_len - 1] != '/';
        size_t total = a_len + slash + b_len;
        char *text = total <= VALUE_TEXT_MAX ? arena_alloc(arena, total + 1) : NULL;
        if (text) {
                memcpy(text, a, a_len);
                if (slash)
                        text[a_len] = '/';
                memcpy(text + a_len + slash, b, b_len);
        }
        scan_value_add(ret, kind, text, total, decoded);
}

void values_join(struct values *ret, struct arena *arena, enum join join, const struct values *left,
                 const struct values *right)
{
        ret->other |= left->other || right->other || left->n == 0 || right->n == 0;
        for (unsigned i = 0; i < left->n; i++)
                for (unsigned k = 0; k < right->n; k++)
                        join_one(ret, arena, join, &left->v[i], &right->v[k]);
        /* Part of it was decoded, so the whole counts as decoded. */
        for (unsigned i = 0; i < left->n + right->n && ret->other; i++)
                if ((i < left->n ? &left->v[i] : &right->v[i - left->n])->decoded)
                        values_add(ret, &(struct value){.kind = VALUE_BYTES, .decoded = true});
}

void values_append(struct values *left, struct arena *arena, enum join join, const struct values *right)
{
        struct values joined = {0};
        values_join(&joined, arena, join, left, right);
        *left = joined;
}

/* ---- transforming ---- */

static int hex_digit(char c)
{
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

static ssize_t unhex(const char *text, size_t len, char *ret)
{
        size_t n = 0;
        for (size_t i = 0; i < len; i++) {
                if (text[i] == ' ')
                        continue;
                int high = hex_digit(text[i]), low = i + 1 < len ? hex_digit(text[i + 1]) : -1;
                if (high < 0 || low < 0)
                        return -1;
                ret[n++] = (char)(high << 4 | low);
                i++;
        }
        return (ssize_t)n;
}

static char rot13(char c)
{
        if (c >= 'a' && c <= 'z')
                return (char)('a' + (c - 'a' + 13) % 26);
        if (c >= 'A' && c <= 'Z')
                return (char)('A' + (c - 'A' + 13) % 26);
        return c;
}

/* Accepts white space, missing padding, and the alphabet for URLs. */
static ssize_t unbase64(const char *text, size_t len, char *ret)
{
        char clean[VALUE_TEXT_MAX + 4];
        size_t n = 0;
        for (size_t i = 0; i < len; i++)
                if (!isspace((unsigned char)text[i]))
                        clean[n++] = (char)(text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
        while (n % 4 != 0)
                clean[n++] = '=';
        return base64_decode(clean, n, ret, len);
}

static ssize_t map_bytes(enum transform transform, const char *text, size_t len, char *ret)
{
        for (size_t i = 0; i < len; i++) {
                unsigned char c = (unsigned char)text[i];
                switch (transform) {
                case TRANSFORM_REVERSE:
                        ret[len - 1 - i] = text[i];
                        break;
                case TRANSFORM_LOWER:
                        ret[i] = (char)tolower(c);
                        break;
                case TRANSFORM_UPPER:
                        ret[i] = (char)toupper(c);
                        break;
                default:
                        ret[i] = rot13(text[i]);
                }
        }
        return (ssize_t)len;
}

static void transform_one(struct values *ret, struct arena *arena, enum transform transform,
                          const struct value *of)
{
        bool decodes = transform >= TRANSFORM_REVERSE && transform != TRANSFORM_LOWER &&
                       transform != TRANSFORM_UPPER && transform != TRANSFORM_STRIP;
        const char *text = of->text;
        size_t len = of->len;
        ssize_t n = -1;
        if (transform == TRANSFORM_STRIP && text) {
                while (len > 0 && isspace((unsigned char)text[0]))
                        text++, len--;
                while (len > 0 && isspace((unsigned char)text[len - 1]))
                        len--;
                transform = TRANSFORM_NONE;
        }
        if (transform == TRANSFORM_NONE) {
                struct value same = *of;
                same.text = text;
                same.len = (uint32_t)len;
                values_add(ret, &same);
                return;
        }
        bool known = text && (of->kind == VALUE_TEXT || of->kind == VALUE_PATH) && len <= VALUE_TEXT_MAX;
        char *to = known ? arena_alloc(arena, len + 1) : NULL;
        if (to && transform == TRANSFORM_BASE64)
                n = unbase64(text, len, to);
        else if (to && transform == TRANSFORM_HEX)
                n = unhex(text, len, to);
        else if (to && transform != TRANSFORM_DECODE)
                n = map_bytes(transform, text, len, to);
        if (n >= 0)
                scan_value_add(ret, VALUE_TEXT, to, (size_t)n, of->decoded || decodes);
        else if (decodes || of->decoded)
                values_add(ret, &(struct value){.kind = VALUE_BYTES, .decoded = true});
        else
                ret->other = true;
}

void values_transform(struct values *ret, struct arena *arena, enum transform transform,
                      const struct values *of)
{
        for (unsigned i = 0; i < of->n; i++)
                transform_one(ret, arena, transform, &of->v[i]);
        bool decodes = transform >= TRANSFORM_BASE64;
        if (of->other && decodes)
                values_add(ret, &(struct value){.kind = VALUE_BYTES, .decoded = true});
        ret->other |= of->other && !decodes;
}
