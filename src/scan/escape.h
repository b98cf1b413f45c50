/* scan/escape.h -- backslashes in literals. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum escapes {
        ESCAPES_PYTHON,
        ESCAPES_PYTHON_BYTES, /* \xff is a byte, not a character */
        ESCAPES_JAVASCRIPT,
        ESCAPES_SHELL, /* of $'...' */
};

/* What text stands for; ret has room for len bytes, and never more are written.  Returns how many. */
size_t escape_decode(enum escapes escapes, const char *text, size_t len, char *ret);
