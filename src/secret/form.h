/* secret/form.h -- the forms in which a value may turn up in text, and how each is read.
 *
 * A form is a sequence of symbols (bytes, hex digits, groups of six bits) and a way to write each.  Text is
 * not compared with prepared strings: encoders differ in what they escape and how, so every symbol may be
 * written in any of its ways.  Given where a match begins, reading is deterministic. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum form_kind {
        FORM_RAW,     /* as it is; a newline may be CR LF, as terminals make it */
        FORM_PERCENT, /* any byte as %41 or itself; a space as + */
        FORM_ESCAPED, /* any character as \n \" \/ \u0041 \x41 \101 \U00000041 or itself: JSON, reprs, shells
                       */
        FORM_HEX,     /* either case, bytes apart or not, lines wrapped */
        FORM_BASE64,  /* either alphabet, lines wrapped after whole groups */
};

/* Base64 thrice, for the ways in which the value may lie in groups of three bytes; and what a line begins
 * with when the one before it ended inside the value's first group. */
#define FORMS_OF_VALUE 9

struct form {
        enum form_kind kind;
        unsigned shift;   /* base64: bytes before the value in its group */
        bool line_start;  /* only at the start of a line */
        const char *text; /* borrowed */
        uint32_t len;     /* of text */
        uint32_t n;       /* symbols */
};

/* The which-th form of a value; false if it has none.  Text of fewer than 4 bytes has no forms. */
bool form_init(struct form *form, unsigned which, const char *text, size_t len);

/* A symbol, as a number. */
unsigned form_symbol(const struct form *form, uint32_t i);

/* Reads symbol i, perhaps some after it too, from text (len > 0).  How many bytes, and *ret_symbols; 0: it
 * is something else; FORM_MORE: that depends on what comes after text. */
#define FORM_MORE (-1)
int form_read(const struct form *form, uint32_t i, const char *text, size_t len, uint32_t *ret_symbols);

/* After the last symbol: how many bytes more belong to it (base64: a digit that the value shares with
 * what follows, and padding); FORM_MORE unless text is all there is. */
int form_tail(const struct form *form, const char *text, size_t len, bool all);

/* The bytes that may be among its first two, each once, and perhaps others.  How many. */
#define FORM_BYTES_MAX 64
size_t form_first_bytes(const struct form *form, char ret[FORM_BYTES_MAX]);
