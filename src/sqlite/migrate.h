/* sqlite/migrate.h -- the schema version of a database, and migration from older versions.
 *
 * The version is SQLite's user_version.  A schema is a list of steps: step n turns version n into version n
 * + 1; step 0 creates the tables in an empty file.  All steps for a file run in one transaction: a crash, a
 * full disk or a failed step leaves the file unchanged. */
#pragma once
#include <sqlite3.h>
#include <stdint.h>

#include "cella.h"

struct sqlite_schema {
        int32_t application; /* application_id, which distinguishes our files from those of other programs */
        int version;         /* version of this program: the number of steps */
        const char *const *steps; /* SQL, without BEGIN and COMMIT */
};

/* Returns the version of a file in *ret; 0 for an empty file.  -EBADMSG: created by another program.
 * -EPROTO: newer than this program.  Does not modify the file. */
int sqlite_schema_version(sqlite3 *db, const char *path, const struct sqlite_schema *schema, int *ret,
                          struct cella_err *err);
/* Migrates a file of an older version, or an empty one, to this program's version. */
int sqlite_schema_migrate(sqlite3 *db, const char *path, const struct sqlite_schema *schema,
                          struct cella_err *err);

/* Fills *err from the last error of the connection: "cannot WHAT PATH: ...".  Returns -ENOSPC, -EBADMSG
 * (the file is damaged), -ENOMEM, -EBUSY or -EIO. */
int sqlite_fail(sqlite3 *db, const char *what, const char *path, struct cella_err *err);
/* Creates the file, readable by its owner only, if it does not exist, or changes its mode.  To be called
 * before SQLite opens it: SQLite gives its other files (-wal, -shm) the same mode. */
int sqlite_make_file(const char *path, struct cella_err *err);
/* Returns the first column of the first row.  -EIO: SQLite failed, or there is no row. */
int sqlite_integer(sqlite3 *db, const char *sql, int64_t *ret);
