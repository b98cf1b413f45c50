/* daemon/backup.c -- a consistent copy of the state directory, and back.
 *
 * A database is copied by VACUUM INTO, which reads one snapshot while the daemon goes on writing.  The other
 * files are replaced by rename(), so an open one does not change.  The secrets are read before their key:
 * the key is written first, once.  The databases are copied one after the other: the log may be some
 * milliseconds newer than the settings. */
#include "daemon/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "audit/db.h"
#include "base/auto.h"
#include "base/err.h"
#include "daemon/archive.h"
#include "daemon/filter.h"
#include "secret/key.h"
#include "secret/seal.h"
#include "secret/store.h"
#include "sqlite/migrate.h"
#include "state/state.h"
#include "sys/file.h"

#define BACKUP_FD 3
#define EXIT_FAILED 125
#define EXIT_WRONG 2
#define COPY "backup.tmp"      /* of a database */
#define SUFFIX ".restore"      /* of files that are not complete yet */
#define STATE_MAX (4ull << 30) /* of state.db */
#define KEY_MAX 256            /* see secret/key.c */

struct file {
        const char *name;
        const struct sqlite_schema *schema; /* NULL: not a database */
        uint64_t max;                       /* 0: seal_file_max() */
};
static const struct file files[] = {
        {SECRET_FILE, NULL, 0},
        {SECRET_KEY_FILE, NULL, KEY_MAX},
        {"audit.db", &db_schema, ARCHIVE_FILE_MAX},
        {"state.db", &state_schema, STATE_MAX}, /* the last: its presence shows a complete restore */
};
/* What belongs to the files that a restore replaces. */
static const char *const old_parts[] = {"state.db-wal", "state.db-shm", "audit.db-wal", "audit.db-shm",
                                        "running.map"};

static int backup_fail(const struct cella_err *err)
{
        fprintf(stderr, "cella: %s%s%s\n", err->msg, err->hint[0] ? "; " : "", err->hint);
        return err->kind == CELLA_INVALID_REQUEST ? EXIT_WRONG : EXIT_FAILED;
}

static int open_directory(const char *path, int *ret, struct cella_err *err)
{
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
        if (fd < 0 || fchdir(fd) < 0)
                return err_set(err, CELLA_INTERNAL, fd < 0 ? fd : -errno, "cannot open %.150s", path);
        if (sodium_init() < 0)
                return err_say(err, CELLA_INTERNAL, -EIO, "libsodium cannot start");
        int r = sys_flock(fd, LOCK_EX | LOCK_NB);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "another backup or restore uses %.150s", path);
        *ret = TAKE_FD(fd);
        return filter_load(err);
}

/* ---- backup ---- */

static int copy_database(const char *name, struct cella_err *err)
{
        sqlite3 *db = NULL;
        sqlite3_stmt *statement = NULL;
        int r = 0;
        unlink(COPY); /* left over from a backup that was killed */
        if (sqlite3_open_v2(name, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
            sqlite3_busy_timeout(db, 10000) != SQLITE_OK ||
            sqlite3_exec(db, "PRAGMA trusted_schema=OFF", NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_prepare_v2(db, "VACUUM INTO '" COPY "'", -1, &statement, NULL) != SQLITE_OK ||
            sqlite3_step(statement) != SQLITE_DONE)
                r = sqlite_fail(db, "copy", name, err);
        sqlite3_finalize(statement);
        sqlite3_close(db);
        return r;
}

static int back_up_file(const struct file *f, struct cella_err *err)
{
        int r = 0;
        if (faccessat(AT_FDCWD, f->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
                return errno == ENOENT ? 0 : err_set(err, CELLA_INTERNAL, -errno, "cannot read %s", f->name);
        if (f->schema && (r = copy_database(f->name, err)) < 0)
                return r;
        AUTO(sys_close)
        int fd = sys_openat(AT_FDCWD, f->schema ? COPY : f->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        if (f->schema)
                unlink(COPY);
        return fd < 0 ? err_set(err, CELLA_INTERNAL, fd, "cannot read %s", f->name)
                      : archive_put(BACKUP_FD, f->name, fd, err);
}

int backup_main(int argc, char **argv)
{
        struct cella_err err = {0};
        AUTO(sys_close) int directory = -1;
        int r = argc != 3 ? err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "run cella backup")
                          : open_directory(argv[2], &directory, &err);
        if (r == 0 && access("state.db", F_OK) < 0)
                r = err_set(&err, CELLA_INVALID_REQUEST, -errno, "there is no state in %.150s", argv[2]);
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(files); i++)
                r = back_up_file(&files[i], &err);
        if (r == 0)
                r = archive_end(BACKUP_FD, &err);
        unlink(COPY);
        return r < 0 ? backup_fail(&err) : 0;
}

/* ---- restore ---- */

static void part_name(const struct file *f, char ret[64])
{
        snprintf(ret, 64, "%s" SUFFIX, f->name);
}

static int check_empty(struct cella_err *err)
{
        for (size_t i = 0; i < ARRAY_LEN(files); i++)
                if (faccessat(AT_FDCWD, files[i].name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
                        err_say(err, CELLA_INVALID_REQUEST, -EEXIST, "the state directory has a %s already",
                                files[i].name);
                        return err_hint(err, "use another directory with --state, or --force to replace its "
                                             "settings, keys, secrets and log");
                }
        return 0;
}

/* Returns the definitions of everything in the database, which the caller frees with sqlite3_free(); NULL:
 * they cannot be read. */
static char *backup_schema(sqlite3 *db)
{
        char **rows = NULL, *text = NULL;
        int n = 0;
        if (sqlite3_get_table(
                    db,
                    "SELECT group_concat(quote(type) || quote(name) || quote(rootpage > 1) || quote(sql))"
                    " FROM (SELECT * FROM sqlite_schema ORDER BY type, name)",
                    &rows, &n, NULL, NULL) == SQLITE_OK &&
            n == 1 && rows[1])
                text = sqlite3_mprintf("%s", rows[1]);
        sqlite3_free_table(rows);
        return text;
}

/* Whether the database has exactly the tables of its version: the daemon relies on their types, and a
 * trigger, a view or an index of an expression would run SQL of whoever wrote the archive. */
static bool has_own_schema(sqlite3 *db, const struct sqlite_schema *schema, int version)
{
        sqlite3 *fresh = NULL;
        bool same = version > 0 && sqlite3_open(":memory:", &fresh) == SQLITE_OK;
        for (int i = 0; same && i < version; i++)
                same = sqlite3_exec(fresh, schema->steps[i], NULL, NULL, NULL) == SQLITE_OK;
        char *have = same ? backup_schema(db) : NULL, *want = same ? backup_schema(fresh) : NULL;
        same = have && want && !strcmp(have, want);
        sqlite3_free(have);
        sqlite3_free(want);
        sqlite3_close(fresh);
        return same;
}

static int check_database(const struct file *f, const char *path, struct cella_err *err)
{
        sqlite3 *db = NULL;
        sqlite3_stmt *check = NULL;
        int version = 0, r = 0;
        if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
            sqlite3_exec(db, "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON", NULL, NULL, NULL))
                r = sqlite_fail(db, "open", f->name, err);
        if (r == 0)
                r = sqlite_schema_version(db, f->name, f->schema, &version, err);
        if (r == 0 && (!has_own_schema(db, f->schema, version) ||
                       sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &check, NULL) != SQLITE_OK ||
                       sqlite3_step(check) != SQLITE_ROW ||
                       strcmp((const char *)sqlite3_column_text(check, 0), "ok") != 0))
                r = err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "%s in this backup is damaged", f->name);
        sqlite3_finalize(check);
        sqlite3_close(db);
        if (r < 0)
                err->kind = CELLA_INVALID_REQUEST;
        return r;
}

static int take_file(const struct file *f, uint64_t size, struct cella_err *err)
{
        char part[64];
        const uint64_t max = f->max ? f->max : seal_file_max();
        if (size > max)
                return err_say(err, CELLA_INVALID_REQUEST, -EFBIG,
                               "%s in this backup has %" PRIu64 " bytes, more than %" PRIu64, f->name, size,
                               max);
        part_name(f, part);
        unlink(part);
        AUTO(sys_close) int fd = sys_openat(AT_FDCWD, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
        if (fd < 0)
                return err_set(err, CELLA_INTERNAL, fd, "cannot make %s", part);
        int r = archive_take(BACKUP_FD, size, fd, err);
        if (r == 0 && fsync(fd) < 0)
                r = err_set(err, CELLA_INTERNAL, -errno, "cannot write %s", part);
        return r < 0 || !f->schema ? r : check_database(f, part, err);
}

static int take_all(bool there[], struct cella_err *err)
{
        char name[ARCHIVE_NAME_SIZE];
        uint64_t size = 0;
        int r;
        while ((r = archive_next(BACKUP_FD, name, &size, err)) > 0) {
                size_t i = 0;
                while (i < ARRAY_LEN(files) && strcmp(files[i].name, name) != 0)
                        i++;
                if (i == ARRAY_LEN(files) || there[i])
                        return err_say(
                                err, CELLA_INVALID_REQUEST, -EBADMSG,
                                "this is not a backup of cella: it has a file that does not belong in it");
                there[i] = true;
                if ((r = take_file(&files[i], size, err)) < 0)
                        return r;
        }
        if (r == 0 && !there[ARRAY_LEN(files) - 1])
                r = err_say(err, CELLA_INVALID_REQUEST, -EBADMSG, "this backup has no %s",
                            files[ARRAY_LEN(files) - 1].name);
        return r;
}

/* A file that the archive does not have is removed: it belongs to another state. */
static int put_in_place(const bool there[], int directory, struct cella_err *err)
{
        char part[64];
        unlink(files[ARRAY_LEN(files) - 1].name);
        for (size_t i = 0; i < ARRAY_LEN(old_parts); i++)
                unlink(old_parts[i]);
        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
                part_name(&files[i], part);
                if (!there[i])
                        unlink(files[i].name);
                else if (rename(part, files[i].name) < 0)
                        return err_set(err, CELLA_INTERNAL, -errno, "cannot put %s in place", files[i].name);
        }
        return fsync(directory) < 0 ? err_set(err, CELLA_INTERNAL, -errno, "cannot write the directory") : 0;
}

int restore_main(int argc, char **argv)
{
        struct cella_err err = {0};
        bool there[ARRAY_LEN(files)] = {false};
        char part[64];
        AUTO(sys_close) int directory = -1;
        int r = argc < 3 ? err_say(&err, CELLA_INVALID_REQUEST, -EINVAL, "run cella restore")
                         : open_directory(argv[2], &directory, &err);
        if (r == 0 && argc == 3)
                r = check_empty(&err);
        if (r == 0)
                r = take_all(there, &err);
        if (r == 0)
                r = put_in_place(there, directory, &err);
        for (size_t i = 0; directory >= 0 && i < ARRAY_LEN(files); i++) {
                part_name(&files[i], part);
                unlink(part);
        }
        return r < 0 ? backup_fail(&err) : 0;
}
