/* secret/store.h -- named secrets, sealed in one file of the state directory.
 *
 * The file is replaced as a whole and is on disk when a call returns; whoever dies meanwhile leaves the old
 * or the new one.  Each value is sealed with its name and times (XChaCha20-Poly1305), and the file as a whole
 * has a keyed hash, so that no entry can be changed, taken out, renamed or put in from elsewhere.  A
 * file that does not check is not loaded, not even in parts.  What cannot be noticed is an older file put in
 * the place of a newer one: who can do that has the key as well, unless it is a credential.
 *
 * Also in memory values are sealed; secret_store_get() opens one, in guarded memory that is wiped.
 * One process at a time holds a store; one thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "secret/key.h"
#include "secret/name.h"

#define SECRET_VALUE_MIN 4 /* bytes, without white space around them: see mask.h */
#define SECRET_VALUE_MAX 65536
#define SECRETS_MAX 1000
#define SECRET_FILE "secrets"

struct secret_store; /* opaque */

struct secret_about {
        char name[SECRET_NAME_SIZE];
        int64_t created_ms, changed_ms;
};

/* An open value: NUL after it and none in it. */
struct secret {
        size_t len;
        char value[];
};

/* Without a file there are no secrets yet.  -EBUSY: another process has it.  -EBADMSG: damaged, or changed by
 * someone.  -EKEYREJECTED: sealed with another key, or its key is gone.  source may be NULL. */
int secret_store_open(const char *directory, const struct secret_key_source *source,
                      struct secret_store **ret, struct cella_err *err);
struct secret_store *secret_store_close(struct secret_store *store);
DEFINE_AUTO(struct secret_store *, secret_store_close)

/* Makes or changes one; *ret_made (may be NULL) says which.  The caller wipes its value. */
int secret_store_set(struct secret_store *store, const char *name, const char *value, size_t len,
                     bool *ret_made, struct cella_err *err);
/* CELLA_NOT_FOUND, -ENOENT: there is none. */
int secret_store_remove(struct secret_store *store, const char *name, struct cella_err *err);
int secret_store_get(struct secret_store *store, const char *name, struct secret **ret,
                     struct cella_err *err);
/* All of them, by name: valid until the next change.  NULL: no i-th. */
size_t secret_store_count(const struct secret_store *store);
const struct secret_about *secret_store_about(const struct secret_store *store, size_t i);

struct secret *secret_free(struct secret *secret);
DEFINE_AUTO(struct secret *, secret_free)

/* Whether it could be set; says what is wrong with it, never what it is. */
int secret_value_check(const char *value, size_t len, struct cella_err *err);
