/* audit/reader.h -- what list, get and verify have in common. */
#pragma once
#include "audit/row.h"

struct audit_reader {
        sqlite3 *db;
};

/* A string with what is not UTF-8 as U+FFFD; null for NULL. */
json_t *reader_text(const void *data, size_t len);
/* RFC 3339, UTC. */
json_t *reader_time(const struct cell *ms);
/* A row as lists show it, from the columns before COLUMN_VIOLATIONS and from `about`. */
json_t *reader_summary(const struct cell *cells, const void *about, size_t about_len);
void reader_hex(const unsigned char *data, size_t len, char *ret); /* 2 * len + 1 */
