/* secret/seal.h -- the format of the secrets file: encrypted entries, and authentication of the whole file.
 *
 *      "cellasec" version count key-id | entry ... | hash
 *      entry: length of name, length of value, created, changed, name, nonce, encrypted value
 *
 * Numbers are little-endian.  The key-id identifies the key.  The hash is keyed and covers everything
 * before it. */
#pragma once
#include <sodium.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auto.h"
#include "cella.h"
#include "secret/key.h"
#include "secret/name.h"

#define SEAL_VERSION 1
#define SEAL_TAG crypto_aead_xchacha20poly1305_ietf_ABYTES
#define SEAL_NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES

struct seal_entry {
        struct secret_about about;
        uint32_t len; /* length of the value */
        unsigned char nonce[SEAL_NONCE];
        unsigned char sealed[]; /* len + SEAL_TAG */
};

struct seal; /* keys derived for each purpose, in guarded memory */
int seal_new(const struct secret_key *key, struct seal **ret);
struct seal *seal_free(struct seal *seal);
DEFINE_AUTO(struct seal *, seal_free)

/* Encrypts a value.  The caller frees *ret. */
int seal_close(const struct seal *seal, const struct secret_about *about, const char *value, size_t len,
               struct seal_entry **ret);
/* Decrypts entry->len bytes to ret.  -EBADMSG: the entry was not encrypted under this name. */
int seal_open(const struct seal *seal, const struct seal_entry *entry, char *ret);

/* Serialises the entries.  The caller frees *ret. */
int seal_write(const struct seal *seal, struct seal_entry *const *entries, size_t n, unsigned char **ret,
               size_t *ret_len);
/* Verifies the whole file, then creates the entries, sorted by name.  The caller frees them and *ret.
 * Outputs are not modified on failure. */
int seal_read(const struct seal *seal, const unsigned char *data, size_t len, struct seal_entry ***ret,
              size_t *ret_n, struct cella_err *err);
/* Returns the maximum length of a file. */
size_t seal_file_max(void);
