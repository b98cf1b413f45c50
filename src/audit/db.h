/* audit/db.h -- audit.db: its tables, and adding to them.
 *
 *     executions  the rows, numbered without gaps
 *     cuts        what retention took from the old end: a chain of its own
 *     head        one row: the last number and hash of both chains, of the same transaction
 *
 * So a row that is missing anywhere shows: in the middle by the number and the hash, at the old
 * end by the cuts, at the new end by the head. */
#pragma once
#include "audit/row.h"
#include "sqlite/migrate.h"

struct db {
        sqlite3 *sqlite;
        sqlite3_stmt *insert, *put_head, *pages, *free_pages;
        uint64_t page_size;
        /* The head as it was committed last. */
        uint64_t seq, cuts;
        unsigned char hash[HASH_SIZE], cut_hash[HASH_SIZE];
};

/* Opens or makes it. */
int db_open(struct db *db, const char *directory, struct cella_err *err);
void db_close(struct db *db);

/* Appends the records in one transaction: all or none.  One whose id is there already is left out.
 * 0 or an SQLite code. */
int db_write(struct db *db, struct record *records);

/* Takes rows from the old end, a few per call, so that the caller can write in between.
 * `pass` is zeroed by the caller before a pass; one pass is one row in the table of cuts. */
struct db_pass {
        uint64_t cut; /* its row */
        bool shrinking;
};
/* 1: call again; 0: nothing left to do; or -EIO. */
int db_retain(struct db *db, uint32_t keep_days, uint64_t keep_bytes, struct db_pass *pass);
/* Whether the file is larger than that: cheap. */
bool db_exceeds(struct db *db, uint64_t bytes);

/* What both sides of the chains begin with. */
extern const unsigned char db_no_hash[HASH_SIZE];
/* Puts `seq`, `hash`, `cuts`, `cut_hash` of db into the table; in a transaction.  An SQLite code. */
int db_put_head(struct db *db);
extern const struct sqlite_schema db_schema;
/* Turns what SQLite said into an error with a hint. */
int db_fail(sqlite3 *sqlite, const char *path, const char *what, struct cella_err *err);
