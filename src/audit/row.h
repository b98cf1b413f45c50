/* audit/row.h -- the columns of a row and its hash.
 *
 * The hash covers the hash of the previous row and every column with its type and length, so that two
 * different rows never have the same encoding: BLAKE2b-256 of
 *     previous hash | for each column: type (1 byte), length or value (8, little-endian), data
 * The same cells are bound to statements and read back, and one function hashes both. */
#pragma once
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/execution.h"

#define HASH_SIZE 32
#define KEPT_MAX 65536 /* bytes of input, stdout, stderr and violations, each */
#define NAME_MAX_BYTES 255

/* In the order of the table: columns shown in lists first, long ones last, because SQLite reads a row only
 * up to the last column that is needed. */
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
        COLUMNS,      /* the hash follows these columns */
};

#define ROW_COLUMNS                                                                                          \
        "seq, id, started_ms, finished_ms, sandbox, runtime, \"key\", session, agent, status, exit_code, "   \
        "signal, duration_us, cpu_us, memory_peak, processes_peak, input_bytes, stdout_bytes, "              \
        "stderr_bytes, violations, input, stdout, stderr, about"

/* Columns of the table of cuts. */
enum cut_column { CUT_N, CUT_AT, CUT_UP_TO, CUT_BASE, CUT_REMOVED, CUT_WHY, CUT_COLUMNS };
#define CUT_COLUMN_NAMES "n, at_ms, up_to, base, removed, why"

struct cell {
        int type; /* SQLITE_INTEGER, SQLITE_TEXT, SQLITE_BLOB, SQLITE_NULL */
        int64_t integer;
        const void *data;
        size_t len;
};

struct cell cell_integer(uint64_t value); /* larger values become the largest possible one */
struct cell cell_text(const char *text);  /* NULL for NULL */
struct cell cell_blob(const void *data, size_t len);

/* Returns the number of columns that the hash covers.  A row without `about` is hashed like a row of
 * version 1, which did not have this column.  The encodings differ: adding or removing `about` changes the
 * hash. */
size_t row_columns(const struct cell *cells);
void row_hash(const unsigned char before[HASH_SIZE], const struct cell *cells, size_t n,
              unsigned char ret[HASH_SIZE]);
/* Binds parameters 1 to n; the data must stay valid until the statement is reset.  Returns 0 or an SQLite
 * code. */
int row_bind(sqlite3_stmt *statement, const struct cell *cells, size_t n);
/* Reads columns 0 to n-1; they are valid until the next step of the statement. */
void row_read(sqlite3_stmt *statement, struct cell *cells, size_t n);

/* A row to be written, in one block of memory. */
struct record {
        struct record *next;
        size_t size; /* size of the block */
        int slot;    /* in running.map; -1: none */
        struct cell cells[COLUMNS];
        char data[];
};

/* Returns NULL if there is no memory.  COLUMN_SEQ is set when the row is written. */
struct record *record_new(const struct audit_begin *begin, const struct audit_end *end, int64_t finished_ms,
                          bool keep_output, int slot);
/* Creates a note of the log itself: a row with status "lost". */
struct record *record_note(const char *text, int64_t now_ms);

int64_t row_now_ms(void);
