/* sqlite/migrate.h -- the schema version of a database, and the way from an older version to this program's.
 *
 * The version is SQLite's user_version.  A schema is a list of steps: step n turns version n into
 * version n + 1, and step 0 makes the tables in an empty file.  All steps that a file needs are one
 * transaction: a crash, a full disk or a failed step leaves the file as it was. */
#pragma once
#include <sqlite3.h>
#include <stdint.h>

#include "cella.h"

struct sqlite_schema {
        int32_t application;      /* application_id: tells our files from those of other programs */
        int version;              /* of this program; the number of steps */
        const char *const *steps; /* SQL, without BEGIN and COMMIT */
};

/* The version of a file; 0 for an empty one.  -EBADMSG: the file of another program.  -EPROTO: the version
 * is newer than this program's.  Does not change the file. */
int sqlite_schema_version(sqlite3 *db, const char *path, const struct sqlite_schema *schema, int *ret,
                          struct cella_err *err);
/* Brings a file of any older version, or an empty one, to this program's version. */
int sqlite_schema_migrate(sqlite3 *db, const char *path, const struct sqlite_schema *schema,
                          struct cella_err *err);

/* Fills *err from the last error of the connection: "cannot WHAT PATH: ...".  Returns -ENOSPC, -EBADMSG
 * (the file is damaged), -ENOMEM, -EBUSY or -EIO. */
int sqlite_fail(sqlite3 *db, const char *what, const char *path, struct cella_err *err);
/* The first column of the first row.  -EIO: SQLite failed, or there is no row. */
int sqlite_integer(sqlite3 *db, const char *sql, int64_t *ret);
