/* base/json_read.h -- reads JSON (RFC 8259 without extensions) from untrusted sources.
 *
 * The text becomes one array of values, in which each container is followed by its contents.  Strings are
 * unescaped in place, so the array is the only allocation.  Depth, number of values and size are limited.
 * Accessors accept NULL (the result of json_get() for a missing member) and values of another type, and
 * then return NULL, false or 0: a caller can read everything it needs and check once. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"

#define JSON_DEPTH_MAX 64
#define JSON_TEXT_MAX (UINT32_MAX / 2)

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
        enum json_type type;
        uint32_t span; /* number of values including itself and its contents: the next value is at v + v->span
                        */
        uint32_t n;    /* number of elements or members */
        uint32_t len;  /* length of a string */
        const char *text; /* a string: valid UTF-8, followed by a NUL; may also contain NULs */
        double real;      /* a number; 1 for true */
        int64_t integer;  /* the number, if is_integer: it was written as an integer and fits */
        bool is_integer;
};

struct json_doc {
        struct json_value *values; /* the first one is the top-level value */
        size_t n;
};

/* Parses text in place: text is modified, may be exactly len bytes long, and must live as long as the
 * document.  Returns 0, -EINVAL (not JSON), -E2BIG (too deep or too many values) or -ENOMEM; *ret is only
 * set on success.  The caller frees the document with json_doc_done(). */
int json_read(char *text, size_t len, size_t values_max, struct json_doc *ret, struct cella_err *err);
void json_doc_done(struct json_doc *doc);

/* Returns the value of a member of an object, or NULL. */
const struct json_value *json_get(const struct json_value *object, const char *name);

/* Iterate over a container: for (v = json_first(c); v; v = json_next(c, v)).  In an object, v is the name
 * (a string) and v + 1 is its value. */
const struct json_value *json_first(const struct json_value *container);
const struct json_value *json_next(const struct json_value *container, const struct json_value *v);

const char *json_get_string(const struct json_value *object, const char *name); /* NULL if missing */
bool json_get_bool(const struct json_value *object, const char *name);          /* false if missing */
bool json_get_integer(const struct json_value *object, const char *name, int64_t *ret);
bool json_get_real(const struct json_value *object, const char *name, double *ret);

static inline void json_doc_done_auto(struct json_doc *doc)
{
        json_doc_done(doc);
}
