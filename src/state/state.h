/* state/state.h -- what the daemon remembers: settings, keys, sandboxes.  SQLite (WAL), state.db.
 *
 * Small and seldom written: every call is one transaction, on the disk when it returns.  One thread
 * per object.  Texts are at most STATE_TEXT_MAX (CELLA_TOO_LARGE), keys and sandboxes at most
 * STATE_ROWS_MAX (CELLA_OVER_CAPACITY).  A file that is damaged, or of a newer version, is
 * an error and stays as it is. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/auto.h"
#include "base/id.h"
#include "cella.h"

#define STATE_SECRET_SIZE 64 /* "cella_" + 43 characters + NUL fit */
#define STATE_TEXT_MAX (1u << 20)
#define STATE_ROWS_MAX 4096

struct state;

int state_open(const char *directory, struct state **ret, struct cella_err *err);
struct state *state_close(struct state *state);
DEFINE_AUTO(struct state *, state_close)

/* The settings as last set through the API; *ret NULL if never. */
int state_settings_get(struct state *state, json_t **ret, struct cella_err *err);
int state_settings_put(struct state *state, const json_t *settings, struct cella_err *err);

/* Keys.  `about` is a JSON object {name, capabilities: [...], tier, limits: {...}, secrets, sandboxes_max}
 * that the caller has checked.  Only a hash of the secret is stored. */
int state_key_add(struct state *state, const json_t *about, char ret_id[ID_SIZE],
                  char ret_secret[STATE_SECRET_SIZE], struct cella_err *err);
int state_key_remove(struct state *state, const char *id, struct cella_err *err); /* -ENOENT */
/* [{id, created_ms, ...about}], without secrets. */
int state_key_list(struct state *state, json_t **ret, struct cella_err *err);
/* Who this secret belongs to: {id, created_ms, ...about}.  Constant time in the secret.  -ENOENT.
 * Kept in memory: no disk access.  *ret is a reference to what is kept: not to be changed. */
int state_key_find(struct state *state, const char *secret, json_t **ret);
/* The names of the secrets that this key may use, a new reference; empty if it is not there any more. */
json_t *state_key_secrets(const struct state *state, const char *id);
bool state_key_known(const struct state *state, const char *id);
unsigned state_key_count(const struct state *state);

/* Sandboxes with a persistent workspace: `about` is core/'s own JSON object.  put replaces. */
int state_sandbox_put(struct state *state, const char *id, const json_t *about, struct cella_err *err);
int state_sandbox_remove(struct state *state, const char *id, struct cella_err *err); /* -ENOENT */
int state_sandbox_list(struct state *state, json_t **ret, struct cella_err *err);     /* [{id, ...about}] */
