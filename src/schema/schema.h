/* schema/schema.h -- tables of fields: one table checks a JSON document, names its defaults and
 * describes it (JSON Schema, as OpenAPI 3.1 has it).
 *
 * A document is refused as a whole or taken as a whole.  Messages name the field by its path
 * ("limits.memory_bytes") and say what it may be.
 *
 * Ranges: min and max both 0 is none; a max below min is a minimum only. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cella.h"

#define SCHEMA_DEPTH_MAX 32 /* of objects and arrays in one another, those of FIELD_ANY too */

enum field_type {
        FIELD_STRING,  /* min, max: length in bytes */
        FIELD_INTEGER, /* min, max */
        FIELD_NUMBER,  /* min, max in thousandths */
        FIELD_BOOLEAN,
        FIELD_WORD,   /* one of words */
        FIELD_OBJECT, /* fields */
        FIELD_ARRAY,  /* of item; min, max: how many */
        FIELD_MAP,    /* name -> item; min, max: how many */
        FIELD_ANY,    /* checked elsewhere */
};

enum {
        FIELD_REQUIRED = 1u << 0,
        FIELD_NULLABLE = 1u << 1,
        FIELD_NO_NUL = 1u << 2, /* a string without NUL characters, as the kernel wants them */
};

struct field {
        const char *name; /* NULL: end of the table */
        enum field_type type;
        unsigned flags;
        int64_t min, max;
        const char *const *words;   /* NULL-terminated */
        const struct field *fields; /* of an object */
        const struct field *item;   /* of an array or map; its name is not used */
        const char *standard;       /* default, as JSON text; NULL: none */
        const char *help;           /* one sentence */
        /* A further check; says in *err what it may be.  May be NULL. */
        int (*check)(const json_t *value, const char *path, struct cella_err *err);
};

/* Parses a request's body: an object by this table (an empty body is {}).  CELLA_INVALID_REQUEST
 * names line and column, or the field; the nearest known name for an unknown one in the hint. */
int schema_parse(const struct field *fields, const char *text, size_t len, json_t **ret,
                 struct cella_err *err);
/* The same for a document that is there already; `path` goes in front of the names ("" for the top). */
int schema_check(const struct field *fields, const json_t *document, const char *path, struct cella_err *err);
/* A new document with all defaults. */
json_t *schema_defaults(const struct field *fields);
/* JSON Schema of the table: a new reference. */
json_t *schema_describe(const struct field *fields);
/* base + patch, object by object; a null in patch takes the field out: RFC 7386.  With
 * schema_fill() after it, null resets to the default. */
json_t *schema_merge(const json_t *base, const json_t *patch);
/* A new document: this one, with the default of every field that it does not have (also in the
 * objects and in the items of arrays that it has). */
json_t *schema_fill(const struct field *fields, const json_t *document);
