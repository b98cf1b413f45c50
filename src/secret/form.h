/* secret/form.h -- the encodings ("forms") in which a value may occur in text, and how to recognise each.
 *
 * A form is a sequence of symbols (bytes, hexadecimal digits, groups of six bits) and the ways to write
 * each.  Text is not compared with prepared strings: encoders differ in what they escape and how, so each
 * symbol may be written in any of its ways.  For a given start position, reading is deterministic. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum form_kind {
        FORM_RAW,     /* unchanged; a newline may be CR LF, as on terminals */
        FORM_PERCENT, /* any byte as %41 or unchanged; a space as + */
        FORM_ESCAPED, /* any character as \n \" \/ \u0041 \x41 \101 \U00000041 or unchanged: JSON, repr(),
                         shells */
        FORM_HEX,     /* upper or lower case, bytes separated or not, lines wrapped */
        FORM_BASE64,  /* both alphabets, lines wrapped after whole groups */
};

/* Base64 three times, for the alignments of the value in groups of three bytes; and the start of a line
 * after a line that ended within the value's first group. */
#define FORMS_OF_VALUE 9

struct form {
        enum form_kind kind;
        unsigned shift;   /* base64: bytes before the value in its group */
        bool line_start;  /* only at the start of a line */
        const char *text; /* borrowed */
        uint32_t len;     /* length of text */
        uint32_t n;       /* number of symbols */
};

/* Initialises form number `which` of a value.  Returns false if the value has no such form.  Text of fewer
 * than 4 bytes has no forms. */
bool form_init(struct form *form, unsigned which, const char *text, size_t len);

/* Returns a symbol as a number. */
unsigned form_symbol(const struct form *form, uint32_t i);

/* Reads symbol i, and possibly following ones, from text (len > 0).  Returns the number of bytes and sets
 * *ret_symbols; 0: no match; FORM_MORE: depends on the data after text. */
#define FORM_MORE (-1)
int form_read(const struct form *form, uint32_t i, const char *text, size_t len, uint32_t *ret_symbols);

/* Returns the number of bytes after the last symbol that belong to the form (base64: a digit shared with
 * the following data, and padding); FORM_MORE if it depends on more data and all is false. */
int form_tail(const struct form *form, const char *text, size_t len, bool all);

/* Returns the bytes that may be among the first two, each once, possibly with some others. */
#define FORM_BYTES_MAX 64
size_t form_first_bytes(const struct form *form, char ret[FORM_BYTES_MAX]);
