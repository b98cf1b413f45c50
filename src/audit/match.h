/* audit/match.h -- checks whether a row matches a filter. */
#pragma once
#include "audit/row.h"

/* A filter prepared for many rows. */
struct match {
        const struct audit_filter *filter;
        char words[AUDIT_STATUSES_MAX][32]; /* the statuses */
        unsigned n_words;
        bool nothing; /* no row can match */
        unsigned char text[256];
        size_t text_len;
        unsigned char shift[256]; /* see match_text() */
};

/* Keeps a pointer to the filter. */
void match_init(struct match *match, const struct audit_filter *filter);
bool match_has_status(const struct match *match, const char *status);
/* Checks all conditions except since_ms, cursor and text; needs the cells before COLUMN_VIOLATIONS. */
bool match_names(const struct match *match, const struct cell *cells);
/* Returns true if data contains the text, or if the filter has no text. */
bool match_text(const struct match *match, const void *data, size_t len);
