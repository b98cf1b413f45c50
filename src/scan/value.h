/* scan/value.h -- the possible values of an expression, as far as the text alone shows.
 *
 * A set of at most VALUES_MAX values, and a flag for "or others". Texts are in the arena or static; they
 * may contain NULs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tree_sitter/api.h>

#include "scan/arena.h"

enum value_kind {
        VALUE_TEXT,   /* a constant string */
        VALUE_NUMBER, /* a number; text is its digits, or NULL if unknown */
        VALUE_NAME,   /* an object by its full name: "os.system" */
        VALUE_PATH,   /* a path object (pathlib): text, or NULL if unknown */
        VALUE_LIST,   /* a list or tuple: node, in scope */
        VALUE_BYTES,  /* unknown bytes from a decoder */
};

struct value {
        enum value_kind kind;
        bool decoded; /* the result of a decoder (base64, hex, …) */
        uint32_t len;
        const char *text;
        TSNode node;
        uint32_t scope;
};

#define VALUES_MAX 4
#define VALUE_TEXT_MAX 65536

struct values {
        unsigned n;
        bool other; /* or something else */
        struct value v[VALUES_MAX];
};

/* Makes the set empty. Unused elements are not initialised, because there is a set for each expression. */
static inline void values_clear(struct values *values)
{
        values->n = 0;
        values->other = false;
}

void values_add(struct values *values, const struct value *value);
void values_add_all(struct values *values, const struct values *more);
/* Adds a copy of the text, which is allocated in the arena. */
void values_add_text(struct values *values, struct arena *arena, enum value_kind kind, const char *text,
                     size_t len);
/* Adds "a.b" for "a" and "b". */
void values_add_member(struct values *values, struct arena *arena, const struct value *object,
                       const char *member, size_t len);
/* Whether the set is exactly one number. */
bool values_are_number(const struct values *values);
bool value_is_name(const struct value *value, const char *name);

/* Combines all values of both sets. A value that is neither text nor number makes the result unknown. */
enum join { JOIN_CONCAT, JOIN_PATH };
void values_join(struct values *ret, struct arena *arena, enum join join, const struct values *left,
                 const struct values *right);
/* Replaces left by the combination. */
void values_append(struct values *left, struct arena *arena, enum join join, const struct values *right);

/* Transforms each text of a set. */
enum transform {
        TRANSFORM_NONE,
        TRANSFORM_REVERSE,
        TRANSFORM_LOWER,
        TRANSFORM_UPPER,
        TRANSFORM_STRIP,
        TRANSFORM_BASE64,
        TRANSFORM_HEX,
        TRANSFORM_ROT13,
        TRANSFORM_DECODE, /* a decoder that is not evaluated */
};
void values_transform(struct values *ret, struct arena *arena, enum transform transform,
                      const struct values *of);
