/* cli/text.h -- prints untrusted text on a terminal: it must not control the terminal, hide text or reverse
 * its direction. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Copies text as one harmless line, cut if it does not fit.  text NULL: "". */
void text_safe(char *out, size_t size, const char *text);

/* Says in a few words that a limit ended a run, for a status such as "timeout" and the hint of the result:
 * "stopped after 2 s (--timeout)".  Another status or hint: both, joined. */
void text_limit(char *out, size_t size, const char *status, const char *hint);

/* Writes len bytes; newlines and tabs are kept. */
void text_print(FILE *out, const char *text, size_t len);

/* A table: headings, then cells row by row, each made safe; printed with aligned columns. */
struct table {
        size_t columns, n, size;
        char **cells; /* owned */
};
void table_init(struct table *t, const char *const *headings, size_t columns);
/* Adds a cell; after the last cell of a row the next row begins.  Cut to width characters (0: not cut). */
void table_add(struct table *t, const char *text, size_t width);
void table_write(struct table *t, FILE *out); /* prints and frees it */
void table_print(struct table *t);            /* the same on stdout */
