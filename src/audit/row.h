/* audit/row.h -- what a row is: its columns, and the hash over them.
 *
 * The hash covers the hash of the row before and every column with its type and length, so that no two
 * different rows are the same bytes: BLAKE2b-256 of
 *     hash before | for each column: type (1 byte), length or value (8, little-endian), data
 * What is bound to the statement and what is read back are the same cells, and one function hashes both. */
#pragma once
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/audit.h"

#define HASH_SIZE 32
#define KEPT_MAX 65536 /* of input, stdout, stderr, violations, each */
#define NAME_MAX_BYTES 255

/* In the order of the table: what lists show first, what is long last, for SQLite reads no further than
 * it has to. */
enum column {
        COLUMN_SEQ,
        COLUMN_ID,
        COLUMN_STARTED,
        COLUMN_FINISHED,
        COLUMN_SANDBOX,
        COLUMN_RUNTIME,
        COLUMN_KEY,
        COLUMN_SESSION,
        COLUMN_AGENT,
        COLUMN_STATUS,
        COLUMN_EXIT_CODE,
        COLUMN_SIGNAL,
        COLUMN_DURATION,
        COLUMN_CPU,
        COLUMN_MEMORY_PEAK,
        COLUMN_PROCESSES_PEAK,
        COLUMN_INPUT_BYTES,
        COLUMN_STDOUT_BYTES,
        COLUMN_STDERR_BYTES,
        COLUMN_VIOLATIONS,
        COLUMN_INPUT,
        COLUMN_STDOUT,
        COLUMN_STDERR,
        COLUMN_ABOUT, /* since version 2 */
        COLUMNS,      /* the hash comes after these */
};

#define ROW_COLUMNS                                                                                          \
        "seq, id, started_ms, finished_ms, sandbox, runtime, \"key\", session, agent, status, exit_code, "   \
        "signal, duration_us, cpu_us, memory_peak, processes_peak, input_bytes, stdout_bytes, "              \
        "stderr_bytes, violations, input, stdout, stderr, about"

/* Of the table of cuts. */
enum cut_column { CUT_N, CUT_AT, CUT_UP_TO, CUT_BASE, CUT_REMOVED, CUT_WHY, CUT_COLUMNS };
#define CUT_COLUMN_NAMES "n, at_ms, up_to, base, removed, why"

struct cell {
        int type; /* SQLITE_INTEGER, SQLITE_TEXT, SQLITE_BLOB, SQLITE_NULL */
        int64_t integer;
        const void *data;
        size_t len;
};

struct cell cell_integer(uint64_t value); /* what does not fit becomes the largest that does */
struct cell cell_text(const char *text);  /* NULL is NULL */
struct cell cell_blob(const void *data, size_t len);

/* How many of the columns of a row its hash covers.  A row without `about` has the form of version 1, which
 * had no such column.  The text that is hashed tells the forms apart: adding or removing `about` changes the
 * hash. */
size_t row_columns(const struct cell *cells);
void row_hash(const unsigned char before[HASH_SIZE], const struct cell *cells, size_t n,
              unsigned char ret[HASH_SIZE]);
/* Parameters 1 to n; the data must stay until the statement is reset.  0 or an SQLite code. */
int row_bind(sqlite3_stmt *statement, const struct cell *cells, size_t n);
/* Columns 0 to n-1; valid until the statement goes on. */
void row_read(sqlite3_stmt *statement, struct cell *cells, size_t n);

/* A row on its way: one block of memory. */
struct record {
        struct record *next;
        size_t size; /* of the block */
        int slot;    /* in running.map; -1: none */
        struct cell cells[COLUMNS];
        char data[];
};

/* NULL: no memory.  COLUMN_SEQ is filled in when it is written. */
struct record *record_new(const struct audit_begin *begin, const struct audit_end *end, int64_t finished_ms,
                          bool keep_output, int slot);
/* The log's own remark: a row with status "lost". */
struct record *record_note(const char *text, int64_t now_ms);

int64_t row_now_ms(void);
