/* audit/match.h -- whether a row is one that a filter wants. */
#pragma once
#include "audit/row.h"

/* A filter, made ready for many rows. */
struct match {
        const struct audit_filter *filter;
        char words[AUDIT_STATUSES_MAX][32]; /* the statuses */
        unsigned n_words;
        bool nothing; /* what it asks for cannot be */
        unsigned char text[256];
        size_t text_len;
        unsigned char shift[256]; /* see match_text() */
};

/* Borrows the filter. */
void match_init(struct match *match, const struct audit_filter *filter);
bool match_has_status(const struct match *match, const char *status);
/* Everything but since_ms, cursor and text; cells as far as COLUMN_VIOLATIONS. */
bool match_names(const struct match *match, const struct cell *cells);
/* Whether the text is in it; always true if the filter has none. */
bool match_text(const struct match *match, const void *data, size_t len);
