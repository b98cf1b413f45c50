#include "audit/match.h"

#include <string.h>

static unsigned char audit_match_lower(unsigned char c)
{
        return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static void take_words(struct match *match, const char *list)
{
        while (*list) {
                size_t len = strcspn(list, ",");
                if (len > 0 && len < sizeof match->words[0] && match->n_words < AUDIT_STATUSES_MAX) {
                        memcpy(match->words[match->n_words], list, len);
                        if (!match_has_status(match, match->words[match->n_words]))
                                match->n_words++;
                        else
                                memset(match->words[match->n_words], 0, sizeof match->words[0]);
                }
                list += len + (list[len] == ',');
        }
}

void match_init(struct match *match, const struct audit_filter *filter)
{
        const char *text = filter->text ? filter->text : "";
        *match = (struct match){.filter = filter, .text_len = strnlen(text, sizeof match->text - 1)};
        if (filter->status)
                take_words(match, filter->status);
        match->nothing = filter->status && match->n_words == 0;
        for (size_t i = 0; i < match->text_len; i++)
                match->text[i] = audit_match_lower((unsigned char)text[i]);
        memset(match->shift, (int)match->text_len, sizeof match->shift);
        for (size_t i = 0; i + 1 < match->text_len; i++) {
                unsigned char c = match->text[i], step = (unsigned char)(match->text_len - 1 - i);
                match->shift[c] = step;
                if (c >= 'a' && c <= 'z')
                        match->shift[c - ('a' - 'A')] = step;
        }
}

bool match_has_status(const struct match *match, const char *status)
{
        for (unsigned i = 0; i < match->n_words; i++)
                if (strcmp(match->words[i], status) == 0)
                        return true;
        return false;
}

static bool is_or_any(const struct cell *cell, const char *wanted)
{
        if (!wanted)
                return true;
        size_t len = strnlen(wanted, NAME_MAX_BYTES);
        return cell->type == SQLITE_TEXT && cell->len == len && memcmp(cell->data, wanted, len) == 0;
}

bool match_names(const struct match *match, const struct cell *cells)
{
        const struct audit_filter *f = match->filter;
        bool status = !f->status;
        for (unsigned i = 0; i < match->n_words && !status; i++)
                status = is_or_any(&cells[COLUMN_STATUS], match->words[i]);
        return status && is_or_any(&cells[COLUMN_SANDBOX], f->sandbox) &&
               is_or_any(&cells[COLUMN_SESSION], f->session) && is_or_any(&cells[COLUMN_AGENT], f->agent) &&
               is_or_any(&cells[COLUMN_KEY], f->key);
}

/* Horspool's algorithm: compares from the end of the window and shifts by the distance of its last byte. */
bool match_text(const struct match *match, const void *data, size_t len)
{
        const unsigned char *p = data;
        size_t n = match->text_len;
        if (n == 0)
                return true;
        for (size_t at = n - 1; at < len; at += match->shift[p[at]]) {
                size_t i = n;
                while (i > 0 && audit_match_lower(p[at - (n - i)]) == match->text[i - 1])
                        i--;
                if (i == 0)
                        return true;
        }
        return false;
}
