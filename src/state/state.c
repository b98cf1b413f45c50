/* state/state.c -- the database of settings, keys and sandboxes.
 *
 * Keys are also kept in memory, because each request with a key looks one up.  Data that could not be
 * written to disk is not kept in memory either, so both are always the same. */
#include "state/state.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "sqlite/migrate.h"

#define HASH_SIZE 32
#define SECRET_PREFIX "cella_"
#define SECRET_BYTES 32
#define SECRET_TYPED_MAX 256

struct key {
        char id[ID_SIZE];
        unsigned char hash[HASH_SIZE];
        json_t *about; /* {id, created_ms, ...} */
};

struct state {
        sqlite3 *db;
        struct key *keys;
        unsigned n_keys, room;
};

static int state_fail(const struct state *state, struct cella_err *err, const char *what)
{
        int code = sqlite3_errcode(state->db);
        int num = code == SQLITE_FULL ? -ENOSPC : code == SQLITE_NOMEM ? -ENOMEM : -EIO;
        err_say(err, CELLA_INTERNAL, num, "cannot %s: %s", what, sqlite3_errmsg(state->db));
        if (code == SQLITE_FULL)
                err_hint(err, "free space on the disk of the state directory");
        return num;
}

/* ---- opening ---- */

static const char *const steps[] = {
        "CREATE TABLE settings (one INTEGER PRIMARY KEY CHECK (one = 1), document TEXT NOT NULL) STRICT;"
        "CREATE TABLE keys (id TEXT PRIMARY KEY, hash BLOB NOT NULL UNIQUE,"
        " created_ms INTEGER NOT NULL, about TEXT NOT NULL) STRICT;"
        "CREATE TABLE sandboxes (id TEXT PRIMARY KEY, about TEXT NOT NULL) STRICT;",
        /* The setting `cluster` accepted any value and had no effect.  Now it must be null. */
        "UPDATE settings SET document = json_set(document, '$.cluster', NULL) WHERE json_valid(document);",
};
const struct sqlite_schema state_schema = {
        .application = 0x43656c53 /* "CelS" */, .version = sizeof steps / sizeof *steps, .steps = steps};

static json_t *with_id(const char *id, const char *about)
{
        json_t *object = id && about ? json_loads(about, 0, NULL) : NULL;
        if (!json_is_object(object)) {
                json_decref(object);
                return NULL;
        }
        json_object_set_new(object, "id", json_stringn(id, strlen(id)));
        return object;
}

static int keep_key(struct state *state, const char *id, const unsigned char *hash, json_t *about)
{
        if (state->n_keys == state->room) {
                unsigned room = state->room ? state->room * 2 : 16;
                struct key *keys = realloc(state->keys, room * sizeof *keys);
                if (!keys)
                        return -ENOMEM;
                state->keys = keys;
                state->room = room;
        }
        struct key *key = &state->keys[state->n_keys++];
        snprintf(key->id, sizeof key->id, "%s", id);
        memcpy(key->hash, hash, HASH_SIZE);
        key->about = json_incref(about);
        return 0;
}

static int load_key(struct state *state, sqlite3_stmt *row)
{
        const char *id = (const char *)sqlite3_column_text(row, 0);
        const char *about = (const char *)sqlite3_column_text(row, 3);
        const void *hash = sqlite3_column_blob(row, 1);
        if (!id || !about || !hash || sqlite3_column_bytes(row, 1) != HASH_SIZE || strlen(id) >= ID_SIZE)
                return -EBADMSG;
        json_t *object = with_id(id, about);
        if (!object)
                return -EBADMSG;
        json_object_set_new(object, "created_ms", json_integer(sqlite3_column_int64(row, 2)));
        int r = keep_key(state, id, hash, object);
        json_decref(object);
        return r;
}

static int load_keys(struct state *state, const char *path, struct cella_err *err)
{
        sqlite3_stmt *statement = NULL;
        int r, bad = 0;
        r = sqlite3_prepare_v2(state->db,
                               "SELECT id, hash, created_ms, about FROM keys ORDER BY created_ms, id", -1,
                               &statement, NULL);
        while (r == SQLITE_OK || r == SQLITE_ROW) {
                r = sqlite3_step(statement);
                if (r == SQLITE_ROW && (bad = load_key(state, statement)) < 0)
                        break;
        }
        sqlite3_finalize(statement);
        if (bad < 0) /* an unreadable key must not be ignored */
                return err_say(err, CELLA_INTERNAL, bad, "%s has a key that cannot be read", path);
        return r == SQLITE_DONE ? 0 : -EIO;
}

int state_open(const char *directory, struct state **ret, struct cella_err *err)
{
        AUTO(state_close) struct state *state = NULL;
        char path[PATH_MAX];
        int r;
        if (sodium_init() < 0)
                return err_say(err, CELLA_INTERNAL, -EIO, "libsodium cannot start");
        if (snprintf(path, sizeof path, "%s/state.db", directory) >= (int)sizeof path)
                return err_set(err, CELLA_INTERNAL, -ENAMETOOLONG, "state directory");
        r = sqlite_make_file(path, err);
        if (r < 0)
                return r;
        state = calloc(1, sizeof *state);
        if (!state)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot open %s", path);
        if (err)
                *err = (struct cella_err){0};
        int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
        if (sqlite3_open_v2(path, &state->db, flags, NULL) != SQLITE_OK ||
            sqlite3_busy_timeout(state->db, 2000) != SQLITE_OK ||
            sqlite3_exec(
                    state->db,
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-1024;"
                    "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON; PRAGMA journal_size_limit=4194304",
                    NULL, NULL, NULL) != SQLITE_OK ||
            (r = sqlite_schema_migrate(state->db, path, &state_schema, err)) < 0 ||
            (r = load_keys(state, path, err)) < 0) {
                bool set = err && err->kind != CELLA_OK;
                int code = sqlite3_errcode(state->db);
                int num = set ? r : sqlite_fail(state->db, "open", path, err);
                if (!set && code == SQLITE_ERROR) /* a table or column is missing */
                        num = -EBADMSG;
                if (num == -EBADMSG && err && !err->hint[0])
                        err_hint(err, "it is damaged: put back a copy, or move it away to start without "
                                      "settings and keys");
                return num;
        }
        *ret = TAKE(state);
        return 0;
}

struct state *state_close(struct state *state)
{
        if (!state)
                return NULL;
        for (unsigned i = 0; i < state->n_keys; i++)
                json_decref(state->keys[i].about);
        free(state->keys);
        sqlite3_close(state->db);
        free(state);
        return NULL;
}

/* ---- one statement ---- */

/* Runs sql with up to two text parameters.  Returns the number of changed rows or -errno. */
static int state_run(struct state *state, const char *sql, const char *first, const char *second,
                     struct cella_err *err, const char *what)
{
        sqlite3_stmt *statement = NULL;
        int r = sqlite3_prepare_v2(state->db, sql, -1, &statement, NULL);
        if (r == SQLITE_OK && first)
                r = sqlite3_bind_text(statement, 1, first, -1, SQLITE_STATIC);
        if (r == SQLITE_OK && second)
                r = sqlite3_bind_text(statement, 2, second, -1, SQLITE_STATIC);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        int changed = r == SQLITE_DONE ? sqlite3_changes(state->db) : state_fail(state, err, what);
        sqlite3_finalize(statement);
        return changed;
}

/* Serialises document.  The caller frees *ret. */
static int state_text_of(const json_t *document, const char *what, char **ret, struct cella_err *err)
{
        char *text = json_dumps(document, JSON_COMPACT | JSON_ENCODE_ANY);
        if (!text)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot write the %s", what);
        if (strlen(text) > STATE_TEXT_MAX) {
                free(text);
                return err_say(err, CELLA_TOO_LARGE, -EFBIG, "the %s: more than %u bytes", what,
                               STATE_TEXT_MAX);
        }
        *ret = text;
        return 0;
}

/* ---- settings ---- */

int state_settings_get(struct state *state, json_t **ret, struct cella_err *err)
{
        sqlite3_stmt *statement = NULL;
        json_t *settings = NULL;
        int r = sqlite3_prepare_v2(state->db, "SELECT document FROM settings", -1, &statement, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        if (r == SQLITE_ROW) {
                settings = json_loads((const char *)sqlite3_column_text(statement, 0), 0, NULL);
                if (!settings)
                        r = SQLITE_CORRUPT;
        }
        bool unreadable = r == SQLITE_CORRUPT && sqlite3_errcode(state->db) == SQLITE_ROW;
        if (r != SQLITE_ROW && r != SQLITE_DONE && !unreadable)
                state_fail(state, err, "read the settings");
        sqlite3_finalize(statement);
        if (unreadable)
                return err_say(err, CELLA_INTERNAL, -EBADMSG, "the settings in state.db are not JSON");
        if (r != SQLITE_ROW && r != SQLITE_DONE)
                return -EIO;
        *ret = settings;
        return 0;
}

int state_settings_put(struct state *state, const json_t *settings, struct cella_err *err)
{
        char *text = NULL;
        int r = state_text_of(settings, "settings", &text, err);
        if (r < 0)
                return r;
        r = state_run(state, "INSERT OR REPLACE INTO settings (one, document) VALUES (1, ?1)", text, NULL,
                      err, "write the settings");
        free(text);
        return r < 0 ? r : 0;
}

/* ---- keys ---- */

static void hash_secret(const char *secret, unsigned char ret[HASH_SIZE])
{
        crypto_generichash(ret, HASH_SIZE, (const unsigned char *)secret, strlen(secret), NULL, 0);
}

static void make_secret(char ret[STATE_SECRET_SIZE])
{
        unsigned char random[SECRET_BYTES];
        size_t used = sizeof SECRET_PREFIX - 1;
        memcpy(ret, SECRET_PREFIX, used);
        randombytes_buf(random, sizeof random);
        sodium_bin2base64(ret + used, STATE_SECRET_SIZE - used, random, sizeof random,
                          sodium_base64_VARIANT_URLSAFE_NO_PADDING);
        sodium_memzero(random, sizeof random);
}

static int insert_key(struct state *state, const char *id, const unsigned char *hash, int64_t created_ms,
                      const char *about, struct cella_err *err)
{
        sqlite3_stmt *statement = NULL;
        static const char sql[] = "INSERT INTO keys (id, hash, created_ms, about) VALUES (?1, ?2, ?3, ?4)";
        int r = sqlite3_prepare_v2(state->db, sql, -1, &statement, NULL);
        if (r == SQLITE_OK) {
                sqlite3_bind_text(statement, 1, id, -1, SQLITE_STATIC);
                sqlite3_bind_blob(statement, 2, hash, HASH_SIZE, SQLITE_STATIC);
                sqlite3_bind_int64(statement, 3, created_ms);
                sqlite3_bind_text(statement, 4, about, -1, SQLITE_STATIC);
                r = sqlite3_step(statement);
        }
        int result = r == SQLITE_DONE ? 0 : state_fail(state, err, "add the key");
        sqlite3_finalize(statement);
        return result;
}

int state_key_add(struct state *state, const json_t *about, char ret_id[ID_SIZE],
                  char ret_secret[STATE_SECRET_SIZE], struct cella_err *err)
{
        char id[ID_SIZE], secret[STATE_SECRET_SIZE], *text = NULL;
        unsigned char hash[HASH_SIZE];
        struct timespec now;
        int r;
        if (!json_is_object(about))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "a key must be an object");
        if (state->n_keys >= STATE_ROWS_MAX)
                return err_say(err, CELLA_OVER_CAPACITY, -ENOSPC, "there are %u keys already", state->n_keys);
        r = id_make("key_", id);
        if (r < 0)
                return err_set(err, CELLA_INTERNAL, r, "cannot make an id");
        r = state_text_of(about, "key", &text, err);
        if (r < 0)
                return r;
        make_secret(secret);
        hash_secret(secret, hash);
        clock_gettime(CLOCK_REALTIME, &now);
        int64_t created_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;

        /* Memory first, because that can be undone. */
        json_t *object = with_id(id, text);
        if (object)
                json_object_set_new(object, "created_ms", json_integer(created_ms));
        r = object ? keep_key(state, id, hash, object) : -ENOMEM;
        json_decref(object);
        if (r < 0)
                err_set(err, CELLA_INTERNAL, r, "cannot add the key");
        else if ((r = insert_key(state, id, hash, created_ms, text, err)) < 0)
                json_decref(state->keys[--state->n_keys].about);
        free(text);
        if (r == 0) {
                memcpy(ret_id, id, sizeof id);
                memcpy(ret_secret, secret, sizeof secret);
        }
        sodium_memzero(secret, sizeof secret);
        return r;
}

int state_key_remove(struct state *state, const char *id, struct cella_err *err)
{
        unsigned i = 0;
        while (i < state->n_keys && strcmp(state->keys[i].id, id) != 0)
                i++;
        if (i == state->n_keys)
                return err_say(err, CELLA_NOT_FOUND, -ENOENT, "no such key: %.40s", id);
        int r = state_run(state, "DELETE FROM keys WHERE id = ?1", id, NULL, err, "remove the key");
        if (r < 0)
                return r;
        json_decref(state->keys[i].about);
        memmove(&state->keys[i], &state->keys[i + 1], (--state->n_keys - i) * sizeof *state->keys);
        return 0;
}

int state_key_list(struct state *state, json_t **ret, struct cella_err *err)
{
        json_t *list = json_array();
        for (unsigned i = 0; i < state->n_keys; i++)
                if (json_array_append_new(list, json_deep_copy(state->keys[i].about)) < 0) {
                        json_decref(list);
                        return err_set(err, CELLA_INTERNAL, -ENOMEM, "cannot list the keys");
                }
        *ret = list;
        return 0;
}

int state_key_find(struct state *state, const char *secret, json_t **ret)
{
        unsigned char hash[HASH_SIZE];
        unsigned found = state->n_keys;
        if (strlen(secret) > SECRET_TYPED_MAX)
                return -ENOENT;
        hash_secret(secret, hash);
        for (unsigned i = 0; i < state->n_keys; i++) /* compare with all keys: constant time */
                if (sodium_memcmp(hash, state->keys[i].hash, HASH_SIZE) == 0)
                        found = i;
        sodium_memzero(hash, sizeof hash);
        if (found == state->n_keys)
                return -ENOENT;
        *ret = json_incref(state->keys[found].about);
        return 0;
}

json_t *state_key_secrets(const struct state *state, const char *id)
{
        for (unsigned i = 0; i < state->n_keys; i++) {
                json_t *list = json_object_get(state->keys[i].about, "secrets");
                if (!strcmp(state->keys[i].id, id) && json_is_array(list))
                        return json_incref(list);
        }
        return json_array();
}

bool state_key_known(const struct state *state, const char *id)
{
        for (unsigned i = 0; i < state->n_keys; i++)
                if (!strcmp(state->keys[i].id, id))
                        return true;
        return false;
}

unsigned state_key_count(const struct state *state)
{
        return state->n_keys;
}

/* ---- sandboxes ---- */

int state_sandbox_put(struct state *state, const char *id, const json_t *about, struct cella_err *err)
{
        char *text = NULL;
        int64_t rows = 0;
        int r;
        if (!json_is_object(about))
                return err_say(err, CELLA_INTERNAL, -EINVAL, "a sandbox must be an object");
        r = state_text_of(about, "sandbox", &text, err);
        if (r < 0)
                return r;
        if (sqlite_integer(state->db, "SELECT count(*) FROM sandboxes", &rows) < 0)
                r = state_fail(state, err, "count the sandboxes");
        else if (rows >= STATE_ROWS_MAX)
                r = state_run(state, "UPDATE sandboxes SET about = ?2 WHERE id = ?1", id, text, err,
                              "write the sandbox");
        else
                r = state_run(state, "INSERT OR REPLACE INTO sandboxes (id, about) VALUES (?1, ?2)", id, text,
                              err, "write the sandbox");
        free(text);
        if (r == 0)
                return err_say(err, CELLA_OVER_CAPACITY, -ENOSPC, "there are %lld sandboxes already",
                               (long long)rows);
        return r < 0 ? r : 0;
}

int state_sandbox_remove(struct state *state, const char *id, struct cella_err *err)
{
        int r = state_run(state, "DELETE FROM sandboxes WHERE id = ?1", id, NULL, err, "remove the sandbox");
        if (r == 0)
                return err_say(err, CELLA_NOT_FOUND, -ENOENT, "no such sandbox: %.40s", id);
        return r < 0 ? r : 0;
}

int state_sandbox_list(struct state *state, json_t **ret, struct cella_err *err)
{
        sqlite3_stmt *statement = NULL;
        json_t *list = json_array();
        int r = sqlite3_prepare_v2(state->db, "SELECT id, about FROM sandboxes ORDER BY id", -1, &statement,
                                   NULL);
        while (r == SQLITE_OK || r == SQLITE_ROW) {
                r = sqlite3_step(statement);
                if (r != SQLITE_ROW)
                        break;
                json_t *object = with_id((const char *)sqlite3_column_text(statement, 0),
                                         (const char *)sqlite3_column_text(statement, 1));
                if (object) /* an unreadable entry does not hide the others */
                        json_array_append_new(list, object);
        }
        int result = r == SQLITE_DONE ? 0 : state_fail(state, err, "list the sandboxes");
        sqlite3_finalize(statement);
        if (result < 0) {
                json_decref(list);
                return result;
        }
        *ret = list;
        return 0;
}
