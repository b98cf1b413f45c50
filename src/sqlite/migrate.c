#include "sqlite/migrate.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/err.h"
#include "sys/file.h"

int sqlite_fail(sqlite3 *db, const char *what, const char *path, struct cella_err *err)
{
        int code = sqlite3_errcode(db);
        int num = code == SQLITE_FULL                               ? -ENOSPC
                  : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? -EBADMSG
                  : code == SQLITE_NOMEM                            ? -ENOMEM
                  : code == SQLITE_BUSY || code == SQLITE_LOCKED    ? -EBUSY
                                                                    : -EIO;
        err_say(err, CELLA_INTERNAL, num, "cannot %s %s: %s", what, path, sqlite3_errmsg(db));
        if (num == -ENOSPC)
                err_hint(err, "free space on the disk of the state directory");
        return num;
}

int sqlite_make_file(const char *path, struct cella_err *err)
{
        int fd = sys_openat(AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0)
                sys_close(fd);
        else if (fd != -EEXIST)
                return err_set(err, CELLA_INTERNAL, fd, "cannot make %s", path);
        else if (chmod(path, 0600) < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "cannot change the mode of %s", path);
        return 0;
}

int sqlite_integer(sqlite3 *db, const char *sql, int64_t *ret)
{
        sqlite3_stmt *statement = NULL;
        int r = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
        if (r == SQLITE_OK && (r = sqlite3_step(statement)) == SQLITE_ROW)
                *ret = sqlite3_column_int64(statement, 0);
        sqlite3_finalize(statement);
        return r == SQLITE_ROW ? 0 : -EIO;
}

int sqlite_schema_version(sqlite3 *db, const char *path, const struct sqlite_schema *schema, int *ret,
                          struct cella_err *err)
{
        int64_t version = 0, application = 0, tables = 0;
        if (sqlite_integer(db, "PRAGMA user_version", &version) < 0 ||
            sqlite_integer(db, "PRAGMA application_id", &application) < 0 ||
            sqlite_integer(db, "SELECT count(*) FROM sqlite_schema", &tables) < 0)
                return sqlite_fail(db, "open", path, err);
        if (tables == 0 && version == 0) {
                *ret = 0;
                return 0;
        }
        if (application != schema->application || version < 1) {
                err_say(err, CELLA_INTERNAL, -EBADMSG, "%s is the database of another program", path);
                err_hint(err, "move it away, or use another state directory");
                return -EBADMSG;
        }
        if (version > schema->version) {
                err_say(err, CELLA_INTERNAL, -EPROTO,
                        "%s has version %lld, but this program supports only versions up to %d", path,
                        (long long)version, schema->version);
                err_hint(err, "use the version of Cella that wrote it, or a newer one");
                return -EPROTO;
        }
        *ret = (int)version;
        return 0;
}

/* Runs in a transaction, so that no other process migrates at the same time. */
static int run_steps(sqlite3 *db, const char *path, const struct sqlite_schema *schema, struct cella_err *err)
{
        int version = 0;
        char mark[96], what[64];
        int r = sqlite_schema_version(db, path, schema, &version, err);
        if (r < 0 || version == schema->version)
                return r;
        if (version == 0)
                snprintf(what, sizeof what, "make the tables of");
        else
                snprintf(what, sizeof what, "migrate from version %d to %d:", version, schema->version);
        for (; version < schema->version; version++)
                if (sqlite3_exec(db, schema->steps[version], NULL, NULL, NULL))
                        return sqlite_fail(db, what, path, err);
        snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                 (int)schema->application, schema->version);
        return sqlite3_exec(db, mark, NULL, NULL, NULL) ? sqlite_fail(db, what, path, err) : 0;
}

int sqlite_schema_migrate(sqlite3 *db, const char *path, const struct sqlite_schema *schema,
                          struct cella_err *err)
{
        int version = 0;
        int r = sqlite_schema_version(db, path, schema, &version, err);
        if (r < 0 || version == schema->version)
                return r;
        if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL))
                return sqlite_fail(db, "migrate", path, err);
        r = run_steps(db, path, schema, err);
        if (r == 0 && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL))
                r = sqlite_fail(db, "migrate", path, err);
        if (!sqlite3_get_autocommit(db))
                sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return r;
}
