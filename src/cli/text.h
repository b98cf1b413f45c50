/* cli/text.h -- text of others on our terminal: nothing in it may steer the terminal, hide, or
 * turn the line around. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A copy that is one harmless line, cut where it does not fit.  text NULL: "". */
void text_safe(char *out, size_t size, const char *text);

/* Writes len bytes; newlines and tabs stay. */
void text_print(FILE *out, const char *text, size_t len);

/* A table: headings, then cells row by row, each made safe; printed with aligned columns. */
struct table {
        size_t columns, n, size;
        char **cells; /* owned */
};
void table_init(struct table *t, const char *const *headings, size_t columns);
/* Cells beyond a row's last begin the next row.  Cut at width characters (0: not). */
void table_add(struct table *t, const char *text, size_t width);
void table_print(struct table *t); /* and frees it */
