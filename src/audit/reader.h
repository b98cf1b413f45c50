/* audit/reader.h -- functions shared by list, get and verify. */
#pragma once
#include <jansson.h>

#include "audit/row.h"

struct audit_reader {
        sqlite3 *db;
};

/* Returns a JSON string in which invalid UTF-8 is replaced by U+FFFD; JSON null for NULL. */
json_t *reader_text(const void *data, size_t len);
/* Time in RFC 3339 format, UTC. */
json_t *reader_time(const struct cell *ms);
/* Returns a row as shown in lists, from the columns before COLUMN_VIOLATIONS and from `about`. */
json_t *reader_summary(const struct cell *cells, const void *about, size_t about_len);
void reader_hex(const unsigned char *data, size_t len, char *ret); /* ret has 2 * len + 1 bytes */
