/* scan/report.h -- collects findings. If there are too many, the worst are kept. */
#pragma once
#include <tree_sitter/api.h>

#include "scan/rules.h"

/* A text and its position in the scanned file. */
struct report {
        struct scan_report *to;
        const char *text;
        uint32_t line, column; /* its beginning */
        bool fixed;            /* the text was assembled: all its findings are reported at one position */
};

/* Converts a line and column (from 1) of the text to the position in the whole file. */
void report_place(const struct report *report, uint32_t *line, uint32_t *column);

/* Reports node; each rule is reported once for a position. */
void report_node(struct report *report, enum rule rule, TSNode node);
/* Reports a text at a line and column (from 1). */
void report_at(struct report *report, enum rule rule, uint32_t line, uint32_t column, const char *text,
               size_t len);
/* Adds the first part of the name of a module to the imports. */
void report_import(struct report *report, const char *module, size_t len);
/* Sorts the findings. */
void report_end(struct scan_report *report);
