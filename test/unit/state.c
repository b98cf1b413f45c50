#include "state/state.h"

#include <sqlite3.h>

#include "directory.h"

static struct cella_err err;
static struct state *opened(void)
{
        struct state *state = NULL;
        memset(&err, 0, sizeof err);
        CHECK_INT(state_open(directory, &state, &err), 0);
        CHECK_STR(err.msg, "");
        if (!state)
                exit(EXIT_FAILURE);
        return state;
}

static void run_sql(const char *sql)
{
        sqlite3 *db = NULL;
        CHECK_INT(sqlite3_open(in_directory("state.db"), &db), SQLITE_OK);
        CHECK_INT(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(db);
}

static void check_json(json_t *is, const char *should)
{
        char *text = json_dumps(is, JSON_COMPACT | JSON_SORT_KEYS);
        CHECK_STR(text, should);
        free(text);
        json_decref(is);
}

TEST(settings_survive)
{
        AUTO(state_close) struct state *state = opened();
        json_t *settings = (json_t *)&settings,
               *put = json_pack("{s:s, s:{s:i}}", "mode", "all", "limits", "cpus", 2);
        CHECK_INT(state_settings_get(state, &settings, &err), 0);
        CHECK(settings == NULL);
        CHECK_INT(state_settings_put(state, put, &err), 0);
        json_object_del(put, "limits");
        CHECK_INT(state_settings_put(state, put, &err), 0);
        json_decref(put);
        state_close(state);
        state = opened();
        CHECK_INT(state_settings_get(state, &settings, &err), 0);
        check_json(settings, "{\"mode\":\"all\"}");
}

TEST(keys_are_found_by_their_secret_only)
{
        AUTO(state_close) struct state *state = opened();
        char id[2][ID_SIZE], secret[2][STATE_SECRET_SIZE];
        json_t *found = NULL,
               *about = json_pack("{s:s, s:[s]}", "name", "ci", "capabilities", "sandbox.exec");
        CHECK_INT(state_key_count(state), 0);
        CHECK_INT(state_key_find(state, "cella_x", &found), -ENOENT);
        for (int i = 0; i < 2; i++)
                CHECK_INT(state_key_add(state, about, id[i], secret[i], &err), 0);
        json_decref(about);
        CHECK_INT(state_key_count(state), 2);
        CHECK(strcmp(secret[0], secret[1]) != 0 && strcmp(id[0], id[1]) != 0);
        CHECK_INT(strlen(secret[0]), 49);
        CHECK(strncmp(secret[0], "cella_", 6) == 0);
        CHECK(strncmp(id[0], "key_", 4) == 0);
        CHECK_INT(strspn(secret[0] + 6, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
                  43);
        for (int again = 0; again < 2; again++) { /* the second time from the disk */
                for (int i = 0; i < 2; i++) {
                        CHECK_INT(state_key_find(state, secret[i], &found), 0);
                        CHECK_STR(json_string_value(json_object_get(found, "id")), id[i]);
                        CHECK_STR(json_string_value(json_object_get(found, "name")), "ci");
                        CHECK_INT(json_array_size(json_object_get(found, "capabilities")), 1);
                        json_decref(found);
                }
                char other[STATE_SECRET_SIZE];
                strcpy(other, secret[0]);
                other[48] = other[48] == 'A' ? 'B' : 'A';
                CHECK_INT(state_key_find(state, other, &found), -ENOENT);
                other[48] = '\0';
                CHECK_INT(state_key_find(state, other, &found), -ENOENT);
                CHECK_INT(state_key_find(state, "", &found), -ENOENT);
                CHECK_INT(state_key_find(state, id[0], &found), -ENOENT);
                state_close(state);
                state = opened();
        }
        char *endless = malloc(1 << 20);
        memset(endless, 'x', (1 << 20) - 1);
        endless[(1 << 20) - 1] = '\0';
        CHECK_INT(state_key_find(state, endless, &found), -ENOENT);
        free(endless);
}

TEST(keys_are_listed_without_secrets_and_removed)
{
        AUTO(state_close) struct state *state = opened();
        char id[3][ID_SIZE], secret[STATE_SECRET_SIZE], last_secret[STATE_SECRET_SIZE];
        json_t *list = NULL, *about = json_pack("{s:s}", "name", "a"), *found = NULL, *bad = json_array();
        for (int i = 0; i < 3; i++)
                CHECK_INT(state_key_add(state, about, id[i], i == 2 ? last_secret : secret, &err), 0);
        CHECK_INT(state_key_add(state, bad, id[0], secret, &err), -EINVAL);
        json_decref(bad);
        json_decref(about);
        CHECK_INT(state_key_list(state, &list, &err), 0);
        CHECK_INT(json_array_size(list), 3);
        json_t *first = json_array_get(list, 0);
        CHECK_INT(json_object_size(first), 3);
        CHECK(json_integer_value(json_object_get(first, "created_ms")) > 1500000000000);
        json_decref(list);
        CHECK_INT(state_key_remove(state, id[1], &err), 0);
        CHECK_INT(state_key_remove(state, id[1], &err), -ENOENT);
        CHECK_INT(err.kind, CELLA_NOT_FOUND);
        CHECK_INT(state_key_find(state, secret, &found), -ENOENT);
        CHECK_INT(state_key_find(state, last_secret, &found), 0);
        json_decref(found);
        state_close(state);
        state = opened();
        CHECK_INT(state_key_count(state), 2);
        CHECK_INT(state_key_find(state, secret, &found), -ENOENT);
}

TEST(secrets_are_not_on_the_disk)
{
        AUTO(state_close) struct state *state = opened();
        char id[ID_SIZE], secret[STATE_SECRET_SIZE];
        json_t *about = json_object();
        CHECK_INT(state_key_add(state, about, id, secret, &err), 0);
        json_decref(about);
        static const char *const files[] = {"state.db", "state.db-wal"};
        size_t seen = 0;
        for (size_t i = 0; i < 2; i++) {
                FILE *file = fopen(in_directory(files[i]), "rb");
                static char all[1 << 20];
                size_t len = file ? fread(all, 1, sizeof all, file) : 0;
                if (file)
                        fclose(file);
                seen += len;
                CHECK(memmem(all, len, secret, strlen(secret)) == NULL);
                CHECK(memmem(all, len, secret + 6, 20) == NULL);
        }
        CHECK(seen > 4096);
}

TEST(files_are_the_owners_only)
{
        mode_t before = umask(0);
        AUTO(state_close) struct state *state = opened();
        json_t *settings = json_object();
        struct stat st;
        CHECK_INT(state_settings_put(state, settings, &err), 0);
        json_decref(settings);
        static const char *const files[] = {"state.db", "state.db-wal", "state.db-shm"};
        for (size_t i = 0; i < 3; i++) {
                CHECK_INT(stat(in_directory(files[i]), &st), 0);
                CHECK_INT(st.st_mode & 07777, 0600);
        }
        state_close(state);
        chmod(in_directory("state.db"), 0644);
        state = opened();
        CHECK_INT(stat(in_directory("state.db"), &st), 0);
        CHECK_INT(st.st_mode & 07777, 0600);
        umask(before);
}

TEST(sandboxes_are_put_replaced_listed_removed)
{
        AUTO(state_close) struct state *state = opened();
        json_t *about = json_pack("{s:s}", "workspace", "w1"), *list = NULL;
        CHECK_INT(state_sandbox_put(state, "sbx_b", about, &err), 0);
        CHECK_INT(state_sandbox_put(state, "sbx_a", about, &err), 0);
        json_object_set_new(about, "n", json_integer(2));
        CHECK_INT(state_sandbox_put(state, "sbx_b", about, &err), 0);
        json_decref(about);
        state_close(state);
        state = opened();
        CHECK_INT(state_sandbox_list(state, &list, &err), 0);
        check_json(
                list,
                "[{\"id\":\"sbx_a\",\"workspace\":\"w1\"},{\"id\":\"sbx_b\",\"n\":2,\"workspace\":\"w1\"}]");
        CHECK_INT(state_sandbox_remove(state, "sbx_a", &err), 0);
        CHECK_INT(state_sandbox_remove(state, "sbx_a", &err), -ENOENT);
        CHECK_INT(state_sandbox_list(state, &list, &err), 0);
        CHECK_INT(json_array_size(list), 1);
        json_decref(list);
}

TEST(everything_has_a_maximum)
{
        AUTO(state_close) struct state *state = opened();
        char *large = malloc(STATE_TEXT_MAX + 1);
        memset(large, 'x', STATE_TEXT_MAX);
        json_t *document = json_object();
        json_object_set_new(document, "x", json_stringn(large, STATE_TEXT_MAX));
        CHECK_INT(state_settings_put(state, document, &err), -EFBIG);
        CHECK_INT(err.kind, CELLA_TOO_LARGE);
        CHECK_INT(state_sandbox_put(state, "sbx_a", document, &err), -EFBIG);
        char id[ID_SIZE], secret[STATE_SECRET_SIZE];
        CHECK_INT(state_key_add(state, document, id, secret, &err), -EFBIG);
        json_decref(document);
        free(large);
        document = json_object();
        run_sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 4096)"
                "INSERT INTO sandboxes SELECT 'sbx_' || i, '{}' FROM n");
        CHECK_INT(state_sandbox_put(state, "sbx_new", document, &err), -ENOSPC);
        CHECK_INT(err.kind, CELLA_OVER_CAPACITY);
        CHECK_INT(state_sandbox_put(state, "sbx_7", document, &err), 0);
        json_decref(document);
}

static void check_refused(int num, const char *message, const char *hint)
{
        struct state *state = NULL;
        memset(&err, 0, sizeof err);
        CHECK_INT(state_open(directory, &state, &err), num);
        CHECK(state == NULL);
        if (!strstr(err.msg, message) || !strstr(err.hint, hint))
                printf("said: %s (%s)\n", err.msg, err.hint);
        CHECK(strstr(err.msg, message) != NULL);
        CHECK(strstr(err.hint, hint) != NULL);
}

TEST(a_newer_file_is_refused)
{
        state_close(opened());
        run_sql("PRAGMA user_version = 99");
        check_refused(-EPROTO, "state.db has version 99, but this program supports only versions up to 2",
                      "newer");
}

TEST(the_state_of_an_older_version_is_read)
{
        char command[256];
        json_t *settings = NULL, *key = NULL, *list = NULL;
        snprintf(command, sizeof command, "cp " FIXTURES "/state-1/state.db %s/", directory);
        CHECK_INT(system(command), 0);
        AUTO(state_close) struct state *state = opened();
        CHECK_INT(state_settings_get(state, &settings, &err), 0);
        CHECK_INT(json_integer_value(json_object_get(json_object_get(settings, "limits"), "timeout_ms")),
                  20000);
        CHECK_INT(state_key_find(state, "cella_YzaCM4oGrIGTNml6U5s6tA-Cnwn9T8BZGtAcnGrVPmU", &key), 0);
        CHECK_STR(json_string_value(json_object_get(key, "name")), "ci");
        CHECK_STR(json_string_value(json_object_get(key, "id")), "key_52zurfqan4b65lmivagc");
        CHECK_INT(state_sandbox_list(state, &list, &err), 0);
        CHECK_INT(json_array_size(list), 2);
        CHECK_STR(json_string_value(json_object_get(json_array_get(list, 0), "session")), "kept");
        json_decref(settings);
        json_decref(key);
        json_decref(list);
}

TEST(a_cluster_of_an_older_version_is_removed)
{
        json_auto_t *settings = NULL;
        state_close(opened());
        run_sql("INSERT INTO settings VALUES (1, '{\"cluster\": {\"a\": 1}, \"mode\": \"all\"}');"
                "PRAGMA user_version = 1");
        AUTO(state_close) struct state *state = opened();
        CHECK_INT(state_settings_get(state, &settings, &err), 0);
        CHECK(json_is_null(json_object_get(settings, "cluster")));
        CHECK_STR(json_string_value(json_object_get(settings, "mode")), "all");
}

TEST(a_damaged_file_is_refused_and_kept)
{
        state_close(opened());
        FILE *file = fopen(in_directory("state.db"), "wb");
        fputs("this is not a database, and it is longer than the sixteen bytes of a header", file);
        fclose(file);
        check_refused(-EBADMSG, "file is not a database", "damaged");
        struct stat st;
        CHECK_INT(stat(in_directory("state.db"), &st), 0);
        CHECK_INT(st.st_size, 75);
}

TEST(a_missing_table_or_unreadable_key_is_refused)
{
        state_close(opened());
        run_sql("INSERT INTO keys VALUES ('key_a', x'00', 1, '{}')");
        check_refused(-EBADMSG, "has a key that cannot be read", "");
        run_sql("DROP TABLE keys");
        check_refused(-EBADMSG, "no such table: keys", "damaged");
        directory_remove();
        directory_make();
        run_sql("CREATE TABLE other (x)");
        check_refused(-EBADMSG, "of another program", "move it away");
        directory_remove();
        strcpy(directory, "/nonexistent");
        check_refused(-ENOENT, "cannot make /nonexistent/state.db", "");
}

/* If a write to the disk fails, memory is not changed either. */
TEST(a_write_that_fails_changes_nothing)
{
        AUTO(state_close) struct state *state = opened();
        char id[ID_SIZE], secret[STATE_SECRET_SIZE];
        json_t *about = json_object(), *found = NULL;
        CHECK_INT(state_key_add(state, about, id, secret, &err), 0);
        sqlite3 *db = NULL;
        sqlite3_open(in_directory("state.db"), &db);
        CHECK_INT(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        char other_id[ID_SIZE] = "untouched", other_secret[STATE_SECRET_SIZE] = "untouched";
        CHECK_INT(state_key_add(state, about, other_id, other_secret, &err), -EIO);
        CHECK_STR(other_id, "untouched");
        CHECK_STR(other_secret, "untouched");
        CHECK_INT(state_key_count(state), 1);
        CHECK_INT(state_key_remove(state, id, &err), -EIO);
        CHECK_INT(state_key_find(state, secret, &found), 0);
        json_decref(found);
        sqlite3_close(db);
        CHECK_INT(state_key_remove(state, id, &err), 0);
        json_decref(about);
}

/* After a kill at any moment, every acknowledged change is there. */
TEST(acknowledged_changes_survive_a_kill)
{
        state_close(opened());
        for (int round = 0; round < 10; round++) {
                int fds[2];
                CHECK_INT(pipe(fds), 0);
                pid_t pid = fork();
                if (pid == 0) {
                        struct state *state = NULL;
                        if (state_open(directory, &state, NULL) < 0)
                                _exit(1);
                        json_t *about = json_object();
                        for (;;) {
                                char id[ID_SIZE], secret[STATE_SECRET_SIZE] = "";
                                if (state_key_add(state, about, id, secret, NULL) < 0 ||
                                    write(fds[1], secret, sizeof secret) < 0)
                                        _exit(1);
                        }
                }
                close(fds[1]);
                usleep(5000 + (unsigned)round * 3000);
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
                struct state *state = opened();
                char secret[STATE_SECRET_SIZE];
                while (read(fds[0], secret, sizeof secret) == (ssize_t)sizeof secret) {
                        json_t *found = NULL;
                        CHECK_INT(state_key_find(state, secret, &found), 0);
                        json_decref(found);
                }
                close(fds[0]);
                state_close(state);
        }
}
