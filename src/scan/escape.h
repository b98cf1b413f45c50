/* scan/escape.h -- decodes backslash escapes in literals. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum escapes {
        ESCAPES_PYTHON,
        ESCAPES_PYTHON_BYTES, /* \xff is a byte, not a character */
        ESCAPES_JAVASCRIPT,
        ESCAPES_SHELL, /* of $'...' */
};

/* Decodes text into ret, which has room for len bytes; the result is never longer. Returns its length. */
size_t escape_decode(enum escapes escapes, const char *text, size_t len, char *ret);
