/* scan/value.h -- what an expression may be, as far as the text alone tells.
 *
 * A set of at most VALUES_MAX possibilities and the word whether there may be others.  Texts are in the
 * arena or static; they may have NULs in them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <tree_sitter/api.h>

#include "scan/arena.h"

enum value_kind {
        VALUE_TEXT,   /* a constant string */
        VALUE_NUMBER, /* a number; text is its digits, or NULL if it is not known which */
        VALUE_NAME,   /* a thing by its full name: "os.system" */
        VALUE_PATH,   /* an object that is a path (pathlib): text, or NULL if it is not known which */
        VALUE_LIST,   /* a list or tuple: node, in scope */
        VALUE_BYTES,  /* something that came out of a decoder, and nobody knows what it is */
};

struct value {
        enum value_kind kind;
        bool decoded; /* came out of a decoder (base64, hex, …) */
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

/* None at all.  Those that are not there need not be written to: there is one for each expression. */
static inline void values_clear(struct values *values)
{
        values->n = 0;
        values->other = false;
}

void values_add(struct values *values, const struct value *value);
void values_add_all(struct values *values, const struct values *more);
/* A copy of the text in the arena. */
void values_add_text(struct values *values, struct arena *arena, enum value_kind kind, const char *text,
                     size_t len);
/* "a.b" of "a" and "b". */
void values_add_member(struct values *values, struct arena *arena, const struct value *object,
                       const char *member, size_t len);
/* One number and nothing else. */
bool values_are_number(const struct values *values);
bool value_is_name(const struct value *value, const char *name);

/* Makes a text of other texts: each operation takes the possibilities of both and gives those of the
 * result.  What is no text (or number) makes it unknown. */
enum join { JOIN_CONCAT, JOIN_PATH };
void values_join(struct values *ret, struct arena *arena, enum join join, const struct values *left,
                 const struct values *right);

/* One text of another. */
enum transform {
        TRANSFORM_NONE,
        TRANSFORM_REVERSE,
        TRANSFORM_LOWER,
        TRANSFORM_UPPER,
        TRANSFORM_STRIP,
        TRANSFORM_BASE64,
        TRANSFORM_HEX,
        TRANSFORM_ROT13,
        TRANSFORM_DECODE, /* in a way that we do not follow */
};
void values_transform(struct values *ret, struct arena *arena, enum transform transform,
                      const struct values *of);
