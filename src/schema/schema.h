/* schema/schema.h -- tables of fields: a table validates a JSON document, contains its defaults and
 * describes it (JSON Schema, as in OpenAPI 3.1).
 *
 * A document is accepted or refused as a whole.  Error messages contain the path of the field
 * ("limits.memory_bytes") and the allowed values.
 *
 * Ranges: min and max both 0: no limits; max below min: only a minimum. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cella.h"

#define SCHEMA_DEPTH_MAX 32 /* nesting of objects and arrays, including those in FIELD_ANY */

enum field_type {
        FIELD_STRING,  /* min, max: length in bytes */
        FIELD_INTEGER, /* min, max */
        FIELD_NUMBER,  /* min, max in thousandths */
        FIELD_BOOLEAN,
        FIELD_WORD,   /* one of words */
        FIELD_OBJECT, /* fields */
        FIELD_ARRAY,  /* of item; min, max: number of items; or one of words instead of an array */
        FIELD_MAP,    /* name -> item; min, max: number of entries */
        FIELD_ANY,    /* validated elsewhere */
};

enum {
        FIELD_REQUIRED = 1u << 0,
        FIELD_NULLABLE = 1u << 1,
        FIELD_NO_NUL = 1u << 2, /* a string without NUL characters, as the kernel requires */
};

struct field {
        const char *name; /* NULL: end of the table */
        enum field_type type;
        unsigned flags;
        int64_t min, max;
        const char *const *words;   /* NULL-terminated */
        const struct field *fields; /* of an object */
        const struct field *item;   /* of an array or map; its name is ignored */
        const char *standard;       /* default value as JSON text; NULL: none */
        const char *help;           /* one sentence */
        const char *title;          /* a few words for a form; NULL: made from the name */
        /* Additional check, which sets *err.  May be NULL. */
        int (*check)(const json_t *value, const char *path, struct cella_err *err);
};

/* Parses any JSON value that a client sent.  Returns a new reference, or NULL with *ret_error set. */
json_t *schema_load(const char *text, size_t len, json_error_t *ret_error);

/* Parses and validates a request's body (an empty body is {}).  An error is CELLA_INVALID_REQUEST with line
 * and column, or with the field; for an unknown field, the hint is the most similar name.  The caller owns
 * *ret.  fields NULL: it is only parsed. */
int schema_parse(const struct field *fields, const char *text, size_t len, json_t **ret,
                 struct cella_err *err);
/* Validates a document.  `path` is the prefix of field names in messages ("" at the top level). */
int schema_check(const struct field *fields, const json_t *document, const char *path, struct cella_err *err);
/* Returns a new document with all defaults. */
json_t *schema_defaults(const struct field *fields);
/* Returns the JSON Schema of the table: a new reference. */
json_t *schema_describe(const struct field *fields);
/* The same.  An object below for whose table name_of() returns a name is only referred to, as
 * #/components/schemas/NAME of OpenAPI. */
typedef const char *schema_namer(const struct field *fields);
json_t *schema_describe_shared(const struct field *fields, schema_namer *name_of);
/* Returns the schema of one value, such as a parameter. */
json_t *schema_describe_value(const struct field *field, schema_namer *name_of);
/* Returns a document with all required fields: defaults, null, or the smallest value. */
json_t *schema_example(const struct field *fields);
/* Returns base + patch, merged recursively; null in patch removes the field (RFC 7386).  If schema_fill()
 * follows, null resets a field to its default. */
json_t *schema_merge(const json_t *base, const json_t *patch);
/* Returns a copy of the document with the defaults of all missing fields, including those in nested objects
 * and in items of arrays. */
json_t *schema_fill(const struct field *fields, const json_t *document);
