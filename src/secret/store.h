/* secret/store.h -- named secrets, encrypted in one file of the state directory.
 *
 * The file is replaced as a whole and is on disk when a call returns; after a crash there is the old or the
 * new file.  Each value is encrypted with its name and times as authenticated data (XChaCha20-Poly1305),
 * and the file has a keyed hash, so that no entry can be changed, removed, renamed or inserted from
 * elsewhere.  A file that fails verification is not loaded, not even in parts.  Replacing the file by an
 * older version is not detected: an attacker who can do that also has the key, unless it is a credential.
 *
 * Values are also encrypted in memory; secret_store_get() decrypts one into guarded memory that is wiped.
 * One process at a time may open a store; one thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "secret/key.h"
#include "secret/name.h"

struct secret_store; /* opaque */

/* A decrypted value, followed by a NUL; it contains no NUL. */
struct secret {
        size_t len;
        char value[];
};

/* Opens the store.  A missing file means that there are no secrets.  -EBUSY: used by another process.
 * -EBADMSG: damaged or modified.  -EKEYREJECTED: encrypted with another key, or the key is missing.  source
 * may be NULL. */
int secret_store_open(const char *directory, const struct secret_key_source *source,
                      struct secret_store **ret, struct cella_err *err);
struct secret_store *secret_store_close(struct secret_store *store);
DEFINE_AUTO(struct secret_store *, secret_store_close)

/* Creates or changes a secret; *ret_made (may be NULL) is true if it was created.  The caller wipes its
 * value. */
int secret_store_set(struct secret_store *store, const char *name, const char *value, size_t len,
                     bool *ret_made, struct cella_err *err);
/* CELLA_NOT_FOUND, -ENOENT: there is no such secret. */
int secret_store_remove(struct secret_store *store, const char *name, struct cella_err *err);
int secret_store_get(struct secret_store *store, const char *name, struct secret **ret,
                     struct cella_err *err);
/* All secrets, sorted by name: valid until the next change.  NULL if i is too large. */
size_t secret_store_count(const struct secret_store *store);
const struct secret_about *secret_store_about(const struct secret_store *store, size_t i);

struct secret *secret_free(struct secret *secret);
DEFINE_AUTO(struct secret *, secret_free)

/* Checks whether the value can be stored.  The message never contains the value. */
int secret_value_check(const char *value, size_t len, struct cella_err *err);
