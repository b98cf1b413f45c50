/* base/json_read.h -- reads JSON (RFC 8259, nothing more) that may come from anywhere.
 *
 * The text becomes one array of values, each container followed by what is in it; strings are
 * unescaped where they lie, so that nothing else is allocated.  Depth, number of values and
 * size have maxima.  Accessors take NULL (what json_get() of a missing member returns) and a value
 * of another type, and then answer with nothing: a caller asks for what it needs and checks once. */
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
        uint32_t span;    /* values in it, itself included: the next one is at v + v->span */
        uint32_t n;       /* elements or members */
        uint32_t len;     /* of a string */
        const char *text; /* a string, valid UTF-8, NUL after it (and perhaps in it) */
        double real;      /* a number; true is 1 */
        int64_t integer;  /* the same where is_integer: it was written as one and fits */
        bool is_integer;
};

struct json_doc {
        struct json_value *values; /* the first is the document */
        size_t n;
};

/* Reads text, which is changed, must have room for no more than len bytes, and must stay as
 * long as the document.  -EINVAL (not JSON), -E2BIG (too deep, too many values), -ENOMEM; then
 * there is no document. */
int json_read(char *text, size_t len, size_t values_max, struct json_doc *ret, struct cella_err *err);
void json_doc_done(struct json_doc *doc);

/* A member of an object, or NULL. */
const struct json_value *json_get(const struct json_value *object, const char *name);

/* Going through a container: for (v = json_first(c); v; v = json_next(c, v)).  In an object
 * v is a name (a string) and its value is v + 1. */
const struct json_value *json_first(const struct json_value *container);
const struct json_value *json_next(const struct json_value *container, const struct json_value *v);

const char *json_get_string(const struct json_value *object, const char *name); /* NULL */
bool json_get_bool(const struct json_value *object, const char *name);          /* false */
bool json_get_integer(const struct json_value *object, const char *name, int64_t *ret);
bool json_get_real(const struct json_value *object, const char *name, double *ret);

static inline void json_doc_done_auto(struct json_doc *doc)
{
        json_doc_done(doc);
}
