/* audit/db.h -- audit.db: its tables, and writing to them.
 *
 *     executions  the rows, numbered without gaps
 *     cuts        the ranges that retention has removed at the old end: a separate chain
 *     head        one row: the last number and hash of both chains, from the same transaction
 *
 * So a missing row is always detected: in the middle by its number and hash, at the old end by the cuts, at
 * the new end by the head. */
#pragma once
#include "audit/row.h"
#include "sqlite/migrate.h"

struct db {
        sqlite3 *sqlite;
        sqlite3_stmt *insert, *put_head, *pages, *free_pages;
        uint64_t page_size;
        /* The head as committed last. */
        uint64_t seq, cuts;
        unsigned char hash[HASH_SIZE], cut_hash[HASH_SIZE];
};

/* Opens or creates the database. */
int db_open(struct db *db, const char *directory, struct cella_err *err);
void db_close(struct db *db);

/* Appends all records in one transaction, or none.  Skips a record if its id exists already.  Returns 0 or an
 * SQLite code. */
int db_write(struct db *db, struct record *records);

/* Removes rows at the old end, a few per call, so that the caller can write in between.  The caller zeroes
 * *pass before a pass.  One pass is one row in the table of cuts. */
struct db_pass {
        uint64_t cut; /* number of the pass' row */
        bool shrinking;
};
/* Returns 1: call again; 0: finished; or -EIO. */
int db_retain(struct db *db, uint32_t keep_days, uint64_t keep_bytes, struct db_pass *pass);
/* Returns true if the file is larger than bytes.  Cheap. */
bool db_exceeds(struct db *db, uint64_t bytes);

/* The previous hash of the first row in both chains. */
extern const unsigned char db_no_hash[HASH_SIZE];
/* Writes `seq`, `hash`, `cuts` and `cut_hash` of db to the table; call it in a transaction.  Returns an
 * SQLite code. */
int db_put_head(struct db *db);
extern const struct sqlite_schema db_schema;
/* Converts an SQLite error to an error with a hint. */
int db_fail(sqlite3 *sqlite, const char *path, const char *what, struct cella_err *err);
