/* audit/reader.c -- reads the log on a read-only connection.
 *
 * The content of the file is not trusted: it may have been changed. */
#include "audit/reader.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "audit/audit.h"
#include "audit/db.h"
#include "base/err.h"
#include "base/utf8.h"

int audit_reader_open(const char *directory, struct audit_reader **ret, struct cella_err *err)
{
        AUTO(audit_reader_close) struct audit_reader *reader = NULL;
        char path[PATH_MAX];
        int version = 0;
        if (sodium_init() < 0)
                return err_say(err, CELLA_INTERNAL, -EIO, "libsodium cannot start");
        if (snprintf(path, sizeof path, "%s/audit.db", directory) >= (int)sizeof path)
                return err_set(err, CELLA_INTERNAL, -ENAMETOOLONG, "state directory");
        reader = calloc(1, sizeof *reader);
        if (!reader)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot open %s", path);
        if (sqlite3_open_v2(path, &reader->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) ||
            sqlite3_busy_timeout(reader->db, 2000) ||
            sqlite3_exec(reader->db,
                         "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; "
                         "PRAGMA cache_size=-8192",
                         NULL, NULL, NULL)) {
                if (sqlite3_errcode(reader->db) == SQLITE_CANTOPEN)
                        return err_say(err, CELLA_NOT_FOUND, -ENOENT, "cannot open %s", path);
                return db_fail(reader->db, path, "open", err);
        }
        int r = sqlite_schema_version(reader->db, path, &db_schema, &version, err);
        if (r < 0)
                return r;
        if (version == 0)
                return err_say(err, CELLA_NOT_FOUND, -ENOENT, "%s is empty", path);
        if (version < db_schema.version) {
                err_say(err, CELLA_INTERNAL, -EPROTO, "%s has version %d, not %d", path, version,
                        db_schema.version);
                return err_hint(err, "the daemon migrates it when it starts");
        }
        *ret = TAKE(reader);
        return 0;
}

struct audit_reader *audit_reader_close(struct audit_reader *reader)
{
        if (reader) {
                sqlite3_close(reader->db);
                free(reader);
        }
        return NULL;
}

/* ---- values ---- */

json_t *reader_text(const void *data, size_t len)
{
        const unsigned char *p = data;
        size_t used = 0;
        if (!data)
                return json_pack("n");
        char *clean = malloc(len * 3 + 1);
        if (!clean)
                return NULL;
        for (size_t i = 0; i < len;) {
                size_t n = utf8_len((const char *)p + i, len - i);
                memcpy(clean + used, n > 0 ? (const char *)p + i : "\xef\xbf\xbd", n > 0 ? n : 3);
                used += n > 0 ? n : 3;
                i += n > 0 ? n : 1;
        }
        json_t *text = json_stringn_nocheck(clean, used);
        free(clean);
        return text;
}

void reader_hex(const unsigned char *data, size_t len, char *ret)
{
        sodium_bin2hex(ret, 2 * len + 1, data, len);
}

static json_t *reader_text_of(const struct cell *cell)
{
        return cell->type == SQLITE_TEXT || cell->type == SQLITE_BLOB ? reader_text(cell->data, cell->len)
                                                                      : json_pack("n");
}

static json_t *integer_of(const struct cell *cell)
{
        return cell->type == SQLITE_INTEGER ? json_integer(cell->integer) : json_pack("n");
}

static json_t *milliseconds_of(const struct cell *us)
{
        return json_pack("f", (double)us->integer / 1000);
}

json_t *reader_time(const struct cell *ms)
{
        char text[64];
        struct tm tm;
        time_t seconds = (time_t)(ms->integer / 1000);
        if (ms->integer < 0 || seconds > INT64_C(253402300799) || !gmtime_r(&seconds, &tm))
                return json_pack("n");
        size_t len = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
        len += (size_t)snprintf(text + len, sizeof text - len, ".%03dZ", (int)(ms->integer % 1000));
        return json_stringn(text, len);
}

static bool is_text(const struct cell *cell, const char *text)
{
        return cell->type == SQLITE_TEXT && cell->len == strlen(text) &&
               memcmp(cell->data, text, cell->len) == 0;
}

/* Members of `about` that lists show, and those that only a complete row has. */
static const char *const about_listed[] = {"mode", "engine", "image", "tier", "key_name", "error", NULL};
static const char *const about_whole[] = {"reason",    "args", "cwd",        "stdin",       "input_files",
                                          "env_names", "scan", "unrecorded", "traceparent", NULL};

/* Copies only these members, because the file may have been changed. */
static void add_about(json_t *row, const void *about, size_t len, const char *const *names)
{
        json_t *all = about ? json_loadb(about, len, JSON_ALLOW_NUL, NULL) : NULL;
        for (; *names; names++) {
                json_t *value = json_object_get(all, *names);
                json_object_set_new(row, *names, value ? json_incref(value) : json_null());
        }
        json_decref(all);
}

static json_t *summary_of(const struct cell *cells)
{
        return json_pack(
                "{so so so so so so so so so so so sb so so so so s{so so so}}", /* */
                "id", reader_text_of(&cells[COLUMN_ID]), "sandbox", reader_text_of(&cells[COLUMN_SANDBOX]),
                "runtime", reader_text_of(&cells[COLUMN_RUNTIME]), "session",
                reader_text_of(&cells[COLUMN_SESSION]), "agent", reader_text_of(&cells[COLUMN_AGENT]), "key",
                reader_text_of(&cells[COLUMN_KEY]), "started", reader_time(&cells[COLUMN_STARTED]),
                "finished", reader_time(&cells[COLUMN_FINISHED]), "status",
                reader_text_of(&cells[COLUMN_STATUS]), "exit_code", integer_of(&cells[COLUMN_EXIT_CODE]),
                "signal", integer_of(&cells[COLUMN_SIGNAL]), "timed_out",
                is_text(&cells[COLUMN_STATUS], "timeout"), "input_bytes",
                integer_of(&cells[COLUMN_INPUT_BYTES]), "stdout_bytes",
                integer_of(&cells[COLUMN_STDOUT_BYTES]), "stderr_bytes",
                integer_of(&cells[COLUMN_STDERR_BYTES]), "duration_ms",
                milliseconds_of(&cells[COLUMN_DURATION]), "usage", "cpu_ms",
                milliseconds_of(&cells[COLUMN_CPU]), "memory_peak_bytes",
                integer_of(&cells[COLUMN_MEMORY_PEAK]), "processes_peak",
                integer_of(&cells[COLUMN_PROCESSES_PEAK]));
}

json_t *reader_summary(const struct cell *cells, const void *about, size_t about_len)
{
        json_t *row = summary_of(cells);
        if (row)
                add_about(row, about, about_len, about_listed);
        return row;
}

/* ---- complete row ---- */

static json_t *violations_of(const struct cell *cell)
{
        json_t *list =
                cell->type == SQLITE_TEXT ? json_loadb(cell->data, cell->len, JSON_ALLOW_NUL, NULL) : NULL;
        if (json_is_array(list))
                return list;
        json_decref(list);
        return json_array();
}

static bool is_cut(const struct cell *kept, const struct cell *total)
{
        return (uint64_t)total->integer != kept->len;
}

static json_t *whole_of(const struct cell *cells, const unsigned char *hash)
{
        char hex[2 * HASH_SIZE + 1];
        const struct cell *about = &cells[COLUMN_ABOUT];
        json_t *row = reader_summary(cells, about->data, about->len);
        json_t *more = json_pack(
                "{so so so sb sb sb so so}", /* */
                "input", reader_text_of(&cells[COLUMN_INPUT]), "stdout",
                reader_text_of(&cells[COLUMN_STDOUT]), "stderr", reader_text_of(&cells[COLUMN_STDERR]),
                "input_truncated", is_cut(&cells[COLUMN_INPUT], &cells[COLUMN_INPUT_BYTES]),
                "stdout_truncated", is_cut(&cells[COLUMN_STDOUT], &cells[COLUMN_STDOUT_BYTES]),
                "stderr_truncated", is_cut(&cells[COLUMN_STDERR], &cells[COLUMN_STDERR_BYTES]), "violations",
                violations_of(&cells[COLUMN_VIOLATIONS]), "row", integer_of(&cells[COLUMN_SEQ]));
        reader_hex(hash, HASH_SIZE, hex);
        if (!row || !more || json_object_update(row, more) < 0 ||
            json_object_set_new(row, "hash", json_stringn(hex, 2 * HASH_SIZE)) < 0) {
                json_decref(row);
                row = NULL;
        }
        json_decref(more);
        if (row)
                add_about(row, about->data, about->len, about_whole);
        return row;
}

int audit_get(struct audit_reader *reader, const char *id, json_t **ret, struct cella_err *err)
{
        static const char sql[] = "SELECT " ROW_COLUMNS ", hash FROM executions WHERE id = ?1";
        sqlite3_stmt *statement = NULL;
        struct cell cells[COLUMNS + 1];
        json_t *row = NULL;
        int r = sqlite3_prepare_v2(reader->db, sql, -1, &statement, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_bind_text(statement, 1, id, -1, SQLITE_STATIC);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        int result = r == SQLITE_ROW || r == SQLITE_DONE ? 0 : db_fail(reader->db, "audit.db", "read", err);
        if (r == SQLITE_ROW) {
                row_read(statement, cells, COLUMNS + 1);
                row = whole_of(cells, cells[COLUMNS].len == HASH_SIZE ? cells[COLUMNS].data : db_no_hash);
        }
        sqlite3_finalize(statement);
        if (result < 0)
                return result;
        if (r == SQLITE_DONE)
                return err_say(err, CELLA_NOT_FOUND, -ENOENT, "no such execution: %.40s", id);
        if (!row)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot show the execution");
        *ret = row;
        return 0;
}
