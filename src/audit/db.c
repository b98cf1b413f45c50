#include "audit/db.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

/* Files up to this size are checked completely when they are opened. */
#define CHECK_BYTES_MAX (16 << 20)

const unsigned char db_no_hash[HASH_SIZE];

/* Incremental vacuum must be set before the first table is created. */
static const char sql_pragmas[] = "PRAGMA auto_vacuum=INCREMENTAL;"
                                  "PRAGMA journal_mode=WAL;"
                                  "PRAGMA synchronous=NORMAL;"
                                  "PRAGMA cache_size=-32768;"
                                  /* Ids are random, so each row changes other pages of the indexes: with
                                   * rarer checkpoints, more rows share the copy of a page. */
                                  "PRAGMA wal_autocheckpoint=16384;"
                                  "PRAGMA trusted_schema=OFF;"
                                  "PRAGMA cell_size_check=ON;"
                                  "PRAGMA journal_size_limit=67108864;";

/* Version 1.  The index for each filter contains the row numbers in order, so it serves searching and
 * paging. */
static const char sql_make[] =
        "CREATE TABLE executions ("
        " seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
        " started_ms INTEGER NOT NULL, finished_ms INTEGER NOT NULL,"
        " sandbox TEXT, runtime TEXT, \"key\" TEXT, session TEXT, agent TEXT,"
        " status TEXT NOT NULL, exit_code INTEGER, signal INTEGER,"
        " duration_us INTEGER NOT NULL, cpu_us INTEGER NOT NULL,"
        " memory_peak INTEGER NOT NULL, processes_peak INTEGER NOT NULL,"
        " input_bytes INTEGER NOT NULL, stdout_bytes INTEGER NOT NULL, stderr_bytes INTEGER NOT NULL,"
        " violations TEXT, input BLOB, stdout BLOB, stderr BLOB, hash BLOB NOT NULL) STRICT;"
        "CREATE INDEX by_sandbox ON executions (sandbox) WHERE sandbox IS NOT NULL;"
        "CREATE INDEX by_session ON executions (session) WHERE session IS NOT NULL;"
        "CREATE INDEX by_agent ON executions (agent) WHERE agent IS NOT NULL;"
        "CREATE INDEX by_key ON executions (\"key\") WHERE \"key\" IS NOT NULL;"
        "CREATE INDEX by_status ON executions (status);"
        "CREATE INDEX by_started ON executions (started_ms);"
        "CREATE TABLE cuts (n INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, up_to INTEGER NOT NULL,"
        " base BLOB NOT NULL, removed INTEGER NOT NULL, why TEXT NOT NULL, hash BLOB NOT NULL) STRICT;"
        "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL,"
        " hash BLOB NOT NULL, cuts INTEGER NOT NULL, cut_hash BLOB NOT NULL) STRICT;"
        "INSERT INTO head VALUES (1, 0, zeroblob(32), 0, zeroblob(32));";

/* Version 2: data about the request besides its code.  Rows of version 1 keep their hashes. */
static const char sql_add_about[] = "ALTER TABLE executions ADD COLUMN about TEXT;";

static const char *const steps[] = {sql_make, sql_add_about};
const struct sqlite_schema db_schema = {
        .application = 0x43656c41 /* "CelA" */, .version = sizeof steps / sizeof *steps, .steps = steps};

static int hint_damaged(struct cella_err *err)
{
        err_hint(err, "the audit log is damaged: restore a copy, or move the file away (and keep it) to "
                      "begin a new log");
        return -EBADMSG;
}

int db_fail(sqlite3 *sqlite, const char *path, const char *what, struct cella_err *err)
{
        int num = sqlite_fail(sqlite, what, path, err);
        return num == -EBADMSG ? hint_damaged(err) : num;
}

static int audit_db_prepare(struct db *db)
{
        static const char insert[] =
                "INSERT INTO executions (" ROW_COLUMNS ", hash) VALUES "
                "(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO NOTHING";
        static const char head[] = "UPDATE head SET seq = ?1, hash = ?2, cuts = ?3, cut_hash = ?4";
        int64_t page_size = 0;
        if (sqlite3_prepare_v3(db->sqlite, insert, -1, SQLITE_PREPARE_PERSISTENT, &db->insert, NULL) ||
            sqlite3_prepare_v3(db->sqlite, head, -1, SQLITE_PREPARE_PERSISTENT, &db->put_head, NULL) ||
            sqlite3_prepare_v3(db->sqlite, "PRAGMA page_count", -1, SQLITE_PREPARE_PERSISTENT, &db->pages,
                               NULL) ||
            sqlite3_prepare_v3(db->sqlite, "PRAGMA freelist_count", -1, SQLITE_PREPARE_PERSISTENT,
                               &db->free_pages, NULL) ||
            sqlite_integer(db->sqlite, "PRAGMA page_size", &page_size) < 0)
                return -EIO;
        db->page_size = (uint64_t)page_size;
        return 0;
}

static int read_head(struct db *db, const char *path, struct cella_err *err)
{
        sqlite3_stmt *statement = NULL;
        int r = sqlite3_prepare_v2(db->sqlite, "SELECT seq, hash, cuts, cut_hash FROM head", -1, &statement,
                                   NULL);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        bool whole = r == SQLITE_ROW && sqlite3_column_bytes(statement, 1) == HASH_SIZE &&
                     sqlite3_column_bytes(statement, 3) == HASH_SIZE &&
                     sqlite3_column_int64(statement, 0) >= 0 && sqlite3_column_int64(statement, 2) >= 0;
        if (whole) {
                db->seq = (uint64_t)sqlite3_column_int64(statement, 0);
                db->cuts = (uint64_t)sqlite3_column_int64(statement, 2);
                memcpy(db->hash, sqlite3_column_blob(statement, 1), HASH_SIZE);
                memcpy(db->cut_hash, sqlite3_column_blob(statement, 3), HASH_SIZE);
        }
        int result = 0;
        if (r != SQLITE_ROW && r != SQLITE_DONE) {
                result = db_fail(db->sqlite, path, "read", err);
        } else if (!whole) {
                result = err_say(err, CELLA_INTERNAL, -EBADMSG, "%s has no record of its last row", path);
                err_hint(err, "the audit log was changed by something other than Cella: move the file away "
                              "(and keep it) to begin a new log");
        }
        sqlite3_finalize(statement);
        return result;
}

static int check_small(struct db *db, const char *path, struct cella_err *err)
{
        sqlite3_stmt *statement = NULL;
        if (db_exceeds(db, CHECK_BYTES_MAX))
                return 0; /* too slow at start; audit_verify() reads everything */
        int r = sqlite3_prepare_v2(db->sqlite, "PRAGMA quick_check(1)", -1, &statement, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        const char *said = r == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
        int result = 0;
        if (!said) {
                result = db_fail(db->sqlite, path, "check", err);
        } else if (strcmp(said, "ok") != 0) {
                result = err_say(err, CELLA_INTERNAL, -EBADMSG, "%s is damaged: %.100s", path, said);
                err_hint(err, "restore a copy, or move the file away (and keep it) to begin a new log");
        }
        sqlite3_finalize(statement);
        return result;
}

static int open_and_check(struct db *db, const char *path, struct cella_err *err)
{
        int r;
        if (sqlite3_open_v2(path, &db->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ||
            sqlite3_busy_timeout(db->sqlite, 1000) || sqlite3_exec(db->sqlite, sql_pragmas, NULL, NULL, NULL))
                return db_fail(db->sqlite, path, "open", err);
        r = sqlite_schema_migrate(db->sqlite, path, &db_schema, err);
        if (r < 0)
                return r == -EBADMSG && err && !err->hint[0] ? hint_damaged(err) : r;
        r = read_head(db, path, err);
        if (r < 0)
                return r;
        if (audit_db_prepare(db) < 0) {
                r = db_fail(db->sqlite, path, "open", err);
                err_hint(err, "its tables are not those of an audit log: move the file away (and keep it) to "
                              "begin a new log");
                return r;
        }
        return check_small(db, path, err);
}

int db_open(struct db *db, const char *directory, struct cella_err *err)
{
        char path[PATH_MAX];
        *db = (struct db){0};
        if (snprintf(path, sizeof path, "%s/audit.db", directory) >= (int)sizeof path)
                return err_set(err, CELLA_INTERNAL, -ENAMETOOLONG, "state directory");
        int r = sqlite_make_file(path, err);
        if (r == 0)
                r = open_and_check(db, path, err);
        if (r < 0)
                db_close(db);
        return r;
}

void db_close(struct db *db)
{
        sqlite3_finalize(db->insert);
        sqlite3_finalize(db->put_head);
        sqlite3_finalize(db->pages);
        sqlite3_finalize(db->free_pages);
        sqlite3_close(db->sqlite);
        *db = (struct db){0};
}

/* ---- writing ---- */

int db_put_head(struct db *db)
{
        sqlite3_bind_int64(db->put_head, 1, (int64_t)db->seq);
        sqlite3_bind_blob(db->put_head, 2, db->hash, HASH_SIZE, SQLITE_STATIC);
        sqlite3_bind_int64(db->put_head, 3, (int64_t)db->cuts);
        sqlite3_bind_blob(db->put_head, 4, db->cut_hash, HASH_SIZE, SQLITE_STATIC);
        int r = sqlite3_step(db->put_head);
        sqlite3_reset(db->put_head);
        sqlite3_clear_bindings(db->put_head);
        return r == SQLITE_DONE ? SQLITE_OK : r;
}

static int insert(struct db *db, struct record *record)
{
        unsigned char hash[HASH_SIZE];
        record->cells[COLUMN_SEQ] = cell_integer(db->seq + 1);
        row_hash(db->hash, record->cells, row_columns(record->cells), hash);
        int r = row_bind(db->insert, record->cells, COLUMNS);
        if (r == SQLITE_OK)
                r = sqlite3_bind_blob(db->insert, COLUMNS + 1, hash, HASH_SIZE, SQLITE_STATIC);
        if (r == SQLITE_OK)
                r = sqlite3_step(db->insert);
        sqlite3_reset(db->insert);
        sqlite3_clear_bindings(db->insert);
        if (r != SQLITE_DONE)
                return r;
        if (sqlite3_changes(db->sqlite) > 0) {
                db->seq++;
                memcpy(db->hash, hash, HASH_SIZE);
        }
        return SQLITE_OK;
}

int db_write(struct db *db, struct record *records)
{
        struct db before = *db;
        int r = sqlite3_exec(db->sqlite, "BEGIN IMMEDIATE", NULL, NULL, NULL);
        for (; r == SQLITE_OK && records; records = records->next)
                r = insert(db, records);
        if (r == SQLITE_OK)
                r = db_put_head(db);
        if (r == SQLITE_OK)
                r = sqlite3_exec(db->sqlite, "COMMIT", NULL, NULL, NULL);
        if (r == SQLITE_OK)
                return r;
        if (!sqlite3_get_autocommit(db->sqlite))
                sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
        *db = before;
        return r;
}
