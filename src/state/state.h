/* state/state.h -- the daemon's persistent state: settings, keys, sandboxes.  SQLite (WAL), state.db.
 *
 * Small and rarely written: every call is one transaction, which is on disk when it returns.  One thread
 * per object.  Texts are at most STATE_TEXT_MAX bytes (CELLA_TOO_LARGE); there are at most STATE_ROWS_MAX
 * keys and sandboxes (CELLA_OVER_CAPACITY).  A file that is damaged or of a newer version is an error and
 * is not modified. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/id.h"
#include "cella.h"
#include "sqlite/migrate.h"

#define STATE_SECRET_SIZE 64 /* room for "cella_", 43 characters and the NUL */
#define STATE_TEXT_MAX (1u << 20)
#define STATE_ROWS_MAX 4096

struct state;
extern const struct sqlite_schema state_schema; /* of state.db */

int state_open(const char *directory, struct state **ret, struct cella_err *err);
struct state *state_close(struct state *state);
DEFINE_AUTO(struct state *, state_close)

/* The settings last set through the API; *ret is NULL if there are none. */
int state_settings_get(struct state *state, json_t **ret, struct cella_err *err);
int state_settings_put(struct state *state, const json_t *settings, struct cella_err *err);

/* Keys.  `about` is a JSON object {name, capabilities: [...], tier, limits: {...}, secrets, sandboxes_max},
 * which the caller has validated.  Only a hash of the secret is stored. */
int state_key_add(struct state *state, const json_t *about, char ret_id[ID_SIZE],
                  char ret_secret[STATE_SECRET_SIZE], struct cella_err *err);
int state_key_remove(struct state *state, const char *id, struct cella_err *err); /* -ENOENT */
/* [{id, created_ms, ...about}], without secrets. */
int state_key_list(struct state *state, json_t **ret, struct cella_err *err);
/* Finds the key with this secret: {id, created_ms, ...about}.  Constant time in the secret.  -ENOENT if
 * there is none.  No disk access.  *ret is a borrowed reference that must not be modified. */
int state_key_find(struct state *state, const char *secret, json_t **ret);
/* Returns the names of the secrets that this key may use, as a new reference; empty if the key was removed.
 */
json_t *state_key_secrets(const struct state *state, const char *id);
bool state_key_known(const struct state *state, const char *id);
unsigned state_key_count(const struct state *state);

/* Sandboxes with a persistent workspace.  `about` is a JSON object that only core/ interprets.  put
 * replaces. */
int state_sandbox_put(struct state *state, const char *id, const json_t *about, struct cella_err *err);
int state_sandbox_remove(struct state *state, const char *id, struct cella_err *err); /* -ENOENT */
int state_sandbox_list(struct state *state, json_t **ret, struct cella_err *err);     /* [{id, ...about}] */
