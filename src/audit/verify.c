/* audit/verify.c -- recomputes both chains from one snapshot.
 *
 * The expected start and end of the log follow from the cuts (old end), the numbers and hashes (in between)
 * and the head (new end). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/audit.h"
#include "audit/db.h"
#include "audit/reader.h"
#include "base/clock.h"
#include "base/err.h"

#define LOOK_AT_CLOCK 16 /* check the time after this number of rows */

struct verdict {
        uint64_t rows, bad;
        char why[160]; /* empty: no error found */
        /* Computed so far. */
        uint64_t seq, cuts;
        unsigned char hash[HASH_SIZE], cut_hash[HASH_SIZE];
};

__attribute__((format(printf, 3, 4))) static void found(struct verdict *v, uint64_t row, const char *format,
                                                        ...)
{
        va_list ap;
        va_start(ap, format);
        vsnprintf(v->why, sizeof v->why, format, ap);
        va_end(ap);
        v->bad = row;
}

#define N(x) ((unsigned long long)(x))

static bool same(const struct cell *cell, const unsigned char *hash)
{
        return cell->type == SQLITE_BLOB && cell->len == HASH_SIZE &&
               memcmp(cell->data, hash, HASH_SIZE) == 0;
}

/* Calls look() for the rows of sql until the end or until an error is found.  Returns an SQLite code. */
static int each_row(sqlite3 *db, const char *sql, struct verdict *v,
                    void (*look)(struct verdict *v, sqlite3_stmt *row))
{
        sqlite3_stmt *statement = NULL;
        int r = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
        while ((r == SQLITE_OK || r == SQLITE_ROW) && !v->why[0]) {
                r = sqlite3_step(statement);
                if (r == SQLITE_ROW)
                        look(v, statement);
        }
        sqlite3_finalize(statement);
        return r == SQLITE_ROW || r == SQLITE_DONE || v->why[0] ? SQLITE_OK : r;
}

static void look_at_cut(struct verdict *v, sqlite3_stmt *row)
{
        struct cell cells[CUT_COLUMNS + 1];
        unsigned char hash[HASH_SIZE];
        row_read(row, cells, CUT_COLUMNS + 1);
        row_hash(v->cut_hash, cells, CUT_COLUMNS, hash);
        uint64_t n = (uint64_t)cells[CUT_N].integer, up_to = (uint64_t)cells[CUT_UP_TO].integer;
        if (n != v->cuts + 1)
                found(v, v->seq + 1, "cut %llu is missing in the table of cuts", N(v->cuts + 1));
        else if (!same(&cells[CUT_COLUMNS], hash) || cells[CUT_BASE].len != HASH_SIZE || up_to < v->seq)
                found(v, v->seq + 1, "cut %llu in the table of cuts was changed", N(n));
        if (v->why[0])
                return;
        v->cuts = n;
        v->seq = up_to;
        memcpy(v->cut_hash, hash, HASH_SIZE);
        memcpy(v->hash, cells[CUT_BASE].data, HASH_SIZE);
}

static void look_at_row(struct verdict *v, sqlite3_stmt *row)
{
        struct cell cells[COLUMNS + 1];
        unsigned char hash[HASH_SIZE];
        row_read(row, cells, COLUMNS + 1);
        int64_t seq = cells[COLUMN_SEQ].integer;
        uint64_t expected = v->seq + 1;
        if (seq < 0 || (uint64_t)seq < expected) {
                found(v, seq < 0 ? 0 : (uint64_t)seq, "row %lld was inserted: the log begins at row %llu",
                      (long long)seq, N(expected));
                return;
        }
        if ((uint64_t)seq > expected) {
                bool begins = v->rows == 0;
                found(v, expected, "%llu row%s missing before row %lld%s", N((uint64_t)seq - expected),
                      (uint64_t)seq - expected == 1 ? " is" : "s are", (long long)seq,
                      begins ? ", at the beginning of the log, and retention did not remove them" : "");
                return;
        }
        row_hash(v->hash, cells, row_columns(cells), hash);
        if (!same(&cells[COLUMNS], hash)) {
                found(v, expected, "row %llu was changed, or does not follow the row before it", N(expected));
                return;
        }
        v->rows++;
        v->seq = expected;
        memcpy(v->hash, hash, HASH_SIZE);
}

static void look_at_head(struct verdict *v, sqlite3_stmt *row)
{
        struct cell cells[4];
        row_read(row, cells, 4);
        uint64_t seq = (uint64_t)cells[0].integer, cuts = (uint64_t)cells[2].integer;
        if (cuts != v->cuts || !same(&cells[3], v->cut_hash))
                found(v, v->seq - v->rows + 1, "the table of cuts ends at %llu, but the head has %llu%s",
                      N(v->cuts), N(cuts), cuts == v->cuts ? " with another hash" : "");
        else if (seq > v->seq)
                found(v, v->seq + 1, "%llu row%s missing at the end of the log, after row %llu",
                      N(seq - v->seq), seq - v->seq == 1 ? " is" : "s are", N(v->seq));
        else if (seq < v->seq)
                found(v, seq + 1, "row %llu was inserted after the end of the log", N(seq + 1));
        else if (!same(&cells[1], v->hash))
                found(v, v->seq, "the last row, %llu, is not the one that the head records", N(v->seq));
}

/* ---- complete or in slices ---- */

struct audit_verifier {
        struct audit_reader *reader;
        sqlite3_stmt *rows; /* current position */
        struct verdict v;
};

/* The following functions return an SQLite code. */
static int audit_verify_begin(struct audit_verifier *f)
{
        sqlite3 *db = f->reader->db;
        int r = sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
        if (r == SQLITE_OK)
                r = each_row(db, "SELECT " CUT_COLUMN_NAMES ", hash FROM cuts ORDER BY n", &f->v,
                             look_at_cut);
        if (r == SQLITE_OK && !f->v.why[0])
                r = sqlite3_prepare_v2(db, "SELECT " ROW_COLUMNS ", hash FROM executions ORDER BY seq", -1,
                                       &f->rows, NULL);
        return r;
}

/* Returns SQLITE_ROW if the time is over and there are more rows. */
static int look_at_rows(struct audit_verifier *f, int64_t until_us)
{
        for (unsigned n = 1; !f->v.why[0]; n++) {
                int r = sqlite3_step(f->rows);
                if (r != SQLITE_ROW)
                        return r == SQLITE_DONE ? SQLITE_OK : r;
                look_at_row(&f->v, f->rows);
                if (n % LOOK_AT_CLOCK == 0 && clock_us() > until_us)
                        return SQLITE_ROW;
        }
        return SQLITE_OK;
}

static int look_at_end(struct audit_verifier *f)
{
        sqlite3 *db = f->reader->db;
        struct verdict *v = &f->v;
        sqlite3_stmt *statement = NULL;
        int64_t heads = 0;
        int r = v->why[0] ? SQLITE_OK
                          : each_row(db, "SELECT seq, hash, cuts, cut_hash FROM head", v, look_at_head);
        if (r == SQLITE_OK && !v->why[0])
                r = sqlite3_prepare_v2(db, "SELECT count(*) FROM head", -1, &statement, NULL);
        if (statement && sqlite3_step(statement) == SQLITE_ROW)
                heads = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        if (statement && heads != 1)
                found(v, v->seq, "the log has no record of its last row");
        return r;
}

static void audit_verify_end(struct audit_verifier *f)
{
        sqlite3_finalize(f->rows);
        f->rows = NULL;
        if (!sqlite3_get_autocommit(f->reader->db))
                sqlite3_exec(f->reader->db, "ROLLBACK", NULL, NULL, NULL);
}

static int audit_verify_conclude(struct audit_verifier *f, int r, json_t **ret, struct cella_err *err)
{
        struct verdict *v = &f->v;
        char hex[2 * HASH_SIZE + 1];
        int code = r & 0xff;
        if (r != SQLITE_OK && (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR))
                found(v, v->seq + 1, "the database is damaged: %.100s", sqlite3_errmsg(f->reader->db));
        else if (r != SQLITE_OK)
                db_fail(f->reader->db, "audit.db", "read", err);
        audit_verify_end(f);
        if (r != SQLITE_OK && !v->why[0])
                return -EIO;
        reader_hex(v->hash, HASH_SIZE, hex);
        json_t *said = v->why[0] ? json_pack("{sI sb sI ss}", "rows", (json_int_t)v->rows, "ok", 0,
                                             "first_bad", (json_int_t)v->bad, "why", v->why)
                                 : json_pack("{sI sb sI ss}", "rows", (json_int_t)v->rows, "ok", 1, "last",
                                             (json_int_t)v->seq, "hash", hex);
        if (!said)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot verify the audit log");
        *ret = said;
        return 0;
}

static int go_on(struct audit_verifier *f, int64_t until_us, json_t **ret, struct cella_err *err)
{
        int r = f->rows ? SQLITE_OK : audit_verify_begin(f);
        if (r == SQLITE_OK)
                r = look_at_rows(f, until_us);
        if (r == SQLITE_ROW)
                return 1;
        if (r == SQLITE_OK)
                r = look_at_end(f);
        return audit_verify_conclude(f, r, ret, err);
}

int audit_verify(struct audit_reader *reader, json_t **ret, struct cella_err *err)
{
        struct audit_verifier all = {.reader = reader};
        return go_on(&all, INT64_MAX, ret, err);
}

int audit_verifier_new(const char *directory, struct audit_verifier **ret, struct cella_err *err)
{
        struct audit_verifier *f = calloc(1, sizeof *f);
        if (!f)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot verify the audit log");
        int r = audit_reader_open(directory, &f->reader, err);
        if (r < 0) {
                free(f);
                return r;
        }
        *ret = f;
        return 0;
}

int audit_verifier_continue(struct audit_verifier *f, unsigned us, json_t **ret, struct cella_err *err)
{
        return go_on(f, clock_us() + us, ret, err);
}

struct audit_verifier *audit_verifier_free(struct audit_verifier *f)
{
        if (f) {
                audit_verify_end(f);
                audit_reader_close(f->reader);
                free(f);
        }
        return NULL;
}
