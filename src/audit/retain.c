/* audit/retain.c -- removes the oldest rows.
 *
 * Works in small steps.  Each step is a transaction after which the chains verify.  All steps of a pass
 * share one row in the table of cuts, which each step updates: the table grows by one row per pass, and
 * passes are rare, because each frees a tenth of the limit. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "audit/db.h"

#define ROWS_PER_STEP 64
#define PAGES_PER_STEP 2048
#define DAY_MS (24 * INT64_C(3600000))

static uint64_t pragma(sqlite3_stmt *statement)
{
        uint64_t value = 0;
        if (sqlite3_step(statement) == SQLITE_ROW)
                value = (uint64_t)sqlite3_column_int64(statement, 0);
        sqlite3_reset(statement);
        return value;
}

bool db_exceeds(struct db *db, uint64_t bytes)
{
        return pragma(db->pages) * db->page_size > bytes;
}

/* The oldest rows that may be removed. */
struct chosen {
        uint64_t up_to, rows;
        unsigned char hash[HASH_SIZE];
};

static int audit_retain_choose(struct db *db, int64_t older_than_ms, struct chosen *ret)
{
        sqlite3_stmt *statement = NULL;
        int r = sqlite3_prepare_v2(db->sqlite,
                                   "SELECT seq, finished_ms, hash FROM executions ORDER BY seq LIMIT ?1", -1,
                                   &statement, NULL);
        *ret = (struct chosen){0};
        if (r == SQLITE_OK)
                r = sqlite3_bind_int(statement, 1, ROWS_PER_STEP);
        while (r == SQLITE_OK || r == SQLITE_ROW) {
                r = sqlite3_step(statement);
                if (r != SQLITE_ROW)
                        break;
                if (sqlite3_column_int64(statement, 1) >= older_than_ms ||
                    sqlite3_column_bytes(statement, 2) != HASH_SIZE) {
                        r = SQLITE_DONE;
                        break;
                }
                ret->up_to = (uint64_t)sqlite3_column_int64(statement, 0);
                ret->rows++;
                memcpy(ret->hash, sqlite3_column_blob(statement, 2), HASH_SIZE);
        }
        sqlite3_finalize(statement);
        return r == SQLITE_DONE ? 0 : -EIO;
}

/* Returns the hash that this pass' cut builds on, and the number of rows that the pass has removed so far. */
static int before_cut(struct db *db, const struct db_pass *pass, unsigned char ret_hash[HASH_SIZE],
                      uint64_t *ret_removed)
{
        sqlite3_stmt *statement = NULL;
        *ret_removed = 0;
        if (pass->cut == 0) {
                memcpy(ret_hash, db->cut_hash, HASH_SIZE);
                return SQLITE_OK;
        }
        memcpy(ret_hash, db_no_hash, HASH_SIZE);
        int r = sqlite3_prepare_v2(db->sqlite, "SELECT n, removed, hash FROM cuts WHERE n IN (?1 - 1, ?1)",
                                   -1, &statement, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_bind_int64(statement, 1, (int64_t)pass->cut);
        while (r == SQLITE_OK || r == SQLITE_ROW) {
                r = sqlite3_step(statement);
                if (r != SQLITE_ROW)
                        break;
                if ((uint64_t)sqlite3_column_int64(statement, 0) == pass->cut)
                        *ret_removed = (uint64_t)sqlite3_column_int64(statement, 1);
                else if (sqlite3_column_bytes(statement, 2) == HASH_SIZE)
                        memcpy(ret_hash, sqlite3_column_blob(statement, 2), HASH_SIZE);
        }
        sqlite3_finalize(statement);
        return r == SQLITE_DONE ? SQLITE_OK : r;
}

static int put_cut(struct db *db, const struct chosen *chosen, const char *why, struct db_pass *pass)
{
        static const char sql[] =
                "INSERT OR REPLACE INTO cuts (" CUT_COLUMN_NAMES ", hash) VALUES (?, ?, ?, ?, ?, ?, ?)";
        unsigned char before[HASH_SIZE];
        sqlite3_stmt *statement = NULL;
        uint64_t removed = 0, n = pass->cut ? pass->cut : db->cuts + 1;
        int r = before_cut(db, pass, before, &removed);
        if (r != SQLITE_OK)
                return r;
        struct cell cells[CUT_COLUMNS] = {
                [CUT_N] = cell_integer(n),
                [CUT_AT] = cell_integer((uint64_t)row_now_ms()),
                [CUT_UP_TO] = cell_integer(chosen->up_to),
                [CUT_BASE] = cell_blob(chosen->hash, HASH_SIZE),
                [CUT_REMOVED] = cell_integer(removed + chosen->rows),
                [CUT_WHY] = cell_text(why),
        };
        unsigned char hash[HASH_SIZE];
        row_hash(before, cells, CUT_COLUMNS, hash);
        r = sqlite3_prepare_v2(db->sqlite, sql, -1, &statement, NULL);
        if (r == SQLITE_OK)
                r = row_bind(statement, cells, CUT_COLUMNS);
        if (r == SQLITE_OK)
                r = sqlite3_bind_blob(statement, CUT_COLUMNS + 1, hash, HASH_SIZE, SQLITE_STATIC);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        sqlite3_finalize(statement);
        if (r != SQLITE_DONE)
                return r;
        db->cuts = n;
        memcpy(db->cut_hash, hash, HASH_SIZE);
        return SQLITE_OK;
}

static int delete_up_to(struct db *db, uint64_t seq)
{
        sqlite3_stmt *statement = NULL;
        int r = sqlite3_prepare_v2(db->sqlite, "DELETE FROM executions WHERE seq <= ?1", -1, &statement,
                                   NULL);
        if (r == SQLITE_OK)
                r = sqlite3_bind_int64(statement, 1, (int64_t)seq);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        sqlite3_finalize(statement);
        return r == SQLITE_DONE ? SQLITE_OK : r;
}

static int audit_retain_cut(struct db *db, const struct chosen *chosen, const char *why, struct db_pass *pass)
{
        struct db before = *db;
        int r = sqlite3_exec(db->sqlite, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        if (r == SQLITE_OK)
                r = delete_up_to(db, chosen->up_to);
        if (r == SQLITE_OK)
                r = put_cut(db, chosen, why, pass);
        if (r == SQLITE_OK)
                r = db_put_head(db);
        if (r == SQLITE_OK)
                r = sqlite3_exec(db->sqlite, "COMMIT", NULL, NULL, NULL);
        if (r == SQLITE_OK) {
                pass->cut = db->cuts;
                return 0;
        }
        if (!sqlite3_get_autocommit(db->sqlite))
                sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
        *db = before;
        return -EIO;
}

static int cut_some(struct db *db, int64_t older_than_ms, const char *why, struct db_pass *pass)
{
        struct chosen chosen;
        int r = audit_retain_choose(db, older_than_ms, &chosen);
        if (r < 0 || chosen.rows == 0)
                return r;
        r = audit_retain_cut(db, &chosen, why, pass);
        return r < 0 ? r : 1;
}

/* Returns 0 if the file does not become smaller: then another program created it. */
static int give_back(struct db *db, uint64_t pages)
{
        char sql[64];
        snprintf(sql, sizeof sql, "PRAGMA incremental_vacuum(%d)", PAGES_PER_STEP);
        if (sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) != SQLITE_OK)
                return -EIO;
        return pragma(db->pages) < pages ? 1 : 0;
}

int db_retain(struct db *db, uint32_t keep_days, uint64_t keep_bytes, struct db_pass *pass)
{
        int r = 0;
        if (keep_days > 0)
                r = cut_some(db, row_now_ms() - (int64_t)keep_days * DAY_MS, "keep_days", pass);
        if (r != 0 || keep_bytes == 0)
                return r;
        uint64_t pages = pragma(db->pages), unused = pragma(db->free_pages);
        if (pages * db->page_size > keep_bytes)
                pass->shrinking = true;
        if (!pass->shrinking)
                return 0;
        if ((pages - unused) * db->page_size > keep_bytes / 10 * 9) {
                r = cut_some(db, INT64_MAX, "keep_bytes", pass);
                if (r != 0)
                        return r;
        }
        return unused > 0 && pages * db->page_size > keep_bytes / 10 * 9 ? give_back(db, pages) : 0;
}
