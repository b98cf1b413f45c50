/* scan/report.h -- collects findings.  Bounded: of too many, the worst stay. */
#pragma once
#include <tree_sitter/api.h>

#include "scan/rules.h"

/* A text and where it stands. */
struct report {
        struct scan_report *to;
        const char *text;
        uint32_t line, column; /* its beginning */
        bool fixed;            /* made of pieces: all of it is told to be there */
};

/* The place in the whole of a line and column (from 1) of the text. */
void report_place(const struct report *report, uint32_t *line, uint32_t *column);

/* What node says; a rule tells of a place once. */
void report_node(struct report *report, enum rule rule, TSNode node);
/* Something at a line and column (from 1), whose text is given. */
void report_at(struct report *report, enum rule rule, uint32_t line, uint32_t column, const char *text,
               size_t len);
/* Sorts the findings. */
void report_end(struct scan_report *report);
