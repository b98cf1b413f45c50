/* secret/seal.h -- the file of the secrets as bytes: entries, sealed; and the whole, authenticated.
 *
 *      "cellasec" version count key-id | entry ... | hash
 *      entry: length of name, length of value, created, changed, name, nonce, sealed value
 *
 * Numbers are little-endian.  The key-id says which key was used, the hash is keyed and over all before it.
 */
#pragma once
#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "secret/key.h"
#include "secret/store.h"

#define SEAL_VERSION 1
#define SEAL_TAG crypto_aead_xchacha20poly1305_ietf_ABYTES
#define SEAL_NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES

struct seal_entry {
        struct secret_about about;
        uint32_t len; /* of the value */
        unsigned char nonce[SEAL_NONCE];
        unsigned char sealed[]; /* len + SEAL_TAG */
};

struct seal; /* the keys for each purpose, in guarded memory */
int seal_new(const struct secret_key *key, struct seal **ret);
struct seal *seal_free(struct seal *seal);
DEFINE_AUTO(struct seal *, seal_free)

/* The caller frees *ret. */
int seal_close(const struct seal *seal, const struct secret_about *about, const char *value, size_t len,
               struct seal_entry **ret);
/* Writes entry->len bytes.  -EBADMSG: it is not what was sealed under this name. */
int seal_open(const struct seal *seal, const struct seal_entry *entry, char *ret);

/* The caller frees *ret. */
int seal_write(const struct seal *seal, struct seal_entry *const *entries, size_t n, unsigned char **ret,
               size_t *ret_len);
/* Checks all of it, then makes the entries, which are in order of their names.  The caller frees them and
 * *ret; outputs are untouched on failure. */
int seal_read(const struct seal *seal, const unsigned char *data, size_t len, struct seal_entry ***ret,
              size_t *ret_n, struct cella_err *err);
/* How long a file can be. */
size_t seal_file_max(void);
