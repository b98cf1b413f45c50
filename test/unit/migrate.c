#include "sqlite/migrate.h"

#include "test.h"

#define FILE_NAME "/tmp/cella-migrate-%d.db"

static struct cella_err err;
static char path[64];

static const char *const good[] = {
        "CREATE TABLE one (x INTEGER) STRICT; INSERT INTO one VALUES (1)",
        "ALTER TABLE one ADD COLUMN y TEXT; UPDATE one SET y = 'two'",
        "CREATE TABLE three (z TEXT) STRICT; INSERT INTO three SELECT y FROM one",
};

static struct sqlite_schema schema_of(const char *const *steps, int n)
{
        return (struct sqlite_schema){.application = 77, .version = n, .steps = steps};
}

static void die(sqlite3_context *context, int n, sqlite3_value **values)
{
        (void)context, (void)n, (void)values;
        kill(getpid(), SIGKILL);
}

static sqlite3 *opened(void)
{
        sqlite3 *db = NULL;
        CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
        CHECK_INT(sqlite3_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", NULL, NULL, NULL), 0);
        CHECK_INT(sqlite3_create_function(db, "die", 0, SQLITE_UTF8, NULL, die, NULL, NULL), SQLITE_OK);
        return db;
}

static void make_path(void)
{
        snprintf(path, sizeof path, FILE_NAME, (int)getpid());
}

static void remove_file(void)
{
        char other[80];
        static const char *const ends[] = {"", "-wal", "-shm"};
        for (int i = 0; i < 3; i++) {
                snprintf(other, sizeof other, "%s%s", path, ends[i]);
                unlink(other);
        }
}

static int migrate(const char *const *steps, int n)
{
        const struct sqlite_schema schema = schema_of(steps, n);
        sqlite3 *db = opened();
        memset(&err, 0, sizeof err);
        int r = sqlite_schema_migrate(db, path, &schema, &err);
        sqlite3_close(db);
        return r;
}

static int64_t ask(const char *sql)
{
        sqlite3 *db = opened();
        int64_t n = -1;
        sqlite_integer(db, sql, &n);
        sqlite3_close(db);
        return n;
}

TEST(every_version_becomes_the_newest)
{
        make_path();
        for (int from = 0; from <= 3; from++) {
                CHECK_INT(from > 0 ? migrate(good, from) : 0, 0);
                CHECK_INT(ask("PRAGMA user_version"), from);
                CHECK_INT(migrate(good, 3), 0);
                CHECK_INT(ask("PRAGMA user_version"), 3);
                CHECK_INT(ask("PRAGMA application_id"), 77);
                CHECK_INT(ask("SELECT count(*) FROM one JOIN three ON y = z WHERE x = 1 AND y = 'two'"), 1);
                CHECK_INT(migrate(good, 3), 0); /* nothing to do */
                remove_file();
        }
}

TEST(a_newer_or_foreign_file_is_refused_and_stays)
{
        make_path();
        CHECK_INT(migrate(good, 3), 0);
        CHECK_INT(migrate(good, 2), -EPROTO);
        CHECK(strstr(err.msg, "has version 3, but this program supports only versions up to 2") != NULL);
        CHECK(strstr(err.hint, "newer") != NULL);
        CHECK_INT(ask("PRAGMA user_version"), 3);
        sqlite3 *db = opened();
        sqlite3_exec(db, "PRAGMA application_id = 78", NULL, NULL, NULL);
        sqlite3_close(db);
        CHECK_INT(migrate(good, 3), -EBADMSG);
        CHECK(strstr(err.msg, "of another program") != NULL);
        remove_file();
}

TEST(a_step_that_fails_leaves_the_old_version)
{
        const char *const steps[] = {good[0], good[1], "CREATE TABLE three (z TEXT); SELECT 1 FROM nowhere"};
        make_path();
        CHECK_INT(migrate(steps, 1), 0);
        CHECK_INT(migrate(steps, 3), -EIO);
        CHECK(strstr(err.msg, "cannot migrate from version 1 to 3: ") != NULL);
        CHECK_STR(err.msg + strlen(err.msg) - 22, "no such table: nowhere");
        CHECK_INT(ask("PRAGMA user_version"), 1);
        CHECK_INT(ask("SELECT count(*) FROM pragma_table_info('one')"), 1);
        CHECK_INT(ask("SELECT count(*) FROM sqlite_schema"), 1);
        CHECK_INT(migrate(good, 3), 0); /* the next process can migrate it */
        remove_file();
}

TEST(a_kill_during_a_migration_leaves_the_old_version)
{
        const char *const first[] = {good[0], "ALTER TABLE one ADD COLUMN y TEXT; SELECT die()", good[2]};
        const char *const last[] = {good[0], good[1],
                                    "CREATE TABLE three (z TEXT) STRICT; INSERT INTO three SELECT y FROM one;"
                                    "SELECT die()"};
        const char *const *const killers[] = {first, last};
        make_path();
        for (int i = 0; i < 2; i++) {
                int status = 0;
                CHECK_INT(migrate(good, 1), 0);
                pid_t pid = fork();
                if (pid == 0) {
                        migrate(killers[i], 3);
                        _exit(0);
                }
                CHECK_INT(waitpid(pid, &status, 0), pid);
                CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
                CHECK_INT(ask("PRAGMA user_version"), 1);
                CHECK_INT(ask("SELECT count(*) FROM pragma_table_info('one')"), 1);
                CHECK_INT(ask("SELECT count(*) FROM sqlite_schema"), 1);
                CHECK_INT(migrate(good, 3), 0);
                CHECK_INT(ask("SELECT count(*) FROM three WHERE z = 'two'"), 1);
                remove_file();
        }
}
