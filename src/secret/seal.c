#include "secret/seal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define MAGIC "cellasec"
#define MAGIC_LEN 8
#define KEY_ID 16
#define HASH 32
#define HEAD (MAGIC_LEN + 4 + 4 + KEY_ID)
#define ENTRY_HEAD (2 + 4 + 8 + 8) /* before the name */

struct seal {
        unsigned char value[crypto_aead_xchacha20poly1305_ietf_KEYBYTES];
        unsigned char file[HASH];
        unsigned char id[KEY_ID]; /* identifies the key without revealing it */
};

int seal_new(const struct secret_key *key, struct seal **ret)
{
        static const char context[crypto_kdf_CONTEXTBYTES + 1] = "CellaSec";
        _Static_assert(SECRET_KEY_SIZE == crypto_kdf_KEYBYTES, "what it is derived from");
        struct seal *seal = sodium_malloc(sizeof *seal);
        if (!seal)
                return -ENOMEM;
        crypto_kdf_derive_from_key(seal->value, sizeof seal->value, 1, context, key->bytes);
        crypto_kdf_derive_from_key(seal->file, sizeof seal->file, 2, context, key->bytes);
        crypto_kdf_derive_from_key(seal->id, sizeof seal->id, 3, context, key->bytes);
        *ret = seal;
        return 0;
}

struct seal *seal_free(struct seal *seal)
{
        sodium_free(seal);
        return NULL;
}

/* ---- numbers ---- */

static unsigned char *secret_seal_put(unsigned char *to, uint64_t value, size_t size)
{
        for (size_t i = 0; i < size; i++)
                to[i] = (unsigned char)(value >> (8 * i));
        return to + size;
}

static uint64_t secret_seal_get(const unsigned char *from, size_t size)
{
        uint64_t value = 0;
        for (size_t i = 0; i < size; i++)
                value |= (uint64_t)from[i] << (8 * i);
        return value;
}

static unsigned char *put_bytes(unsigned char *to, const void *data, size_t len)
{
        memcpy(to, data, len);
        return to + len;
}

/* ---- one entry ---- */

static unsigned char *put_entry_head(unsigned char *to, const struct secret_about *about, size_t len)
{
        size_t name_len = strlen(about->name);
        to = secret_seal_put(to, name_len, 2);
        to = secret_seal_put(to, len, 4);
        to = secret_seal_put(to, (uint64_t)about->created_ms, 8);
        to = secret_seal_put(to, (uint64_t)about->changed_ms, 8);
        return put_bytes(to, about->name, name_len);
}

/* Additional data that is authenticated with a value: its name, length and times. */
struct bound {
        unsigned char data[MAGIC_LEN + 4 + ENTRY_HEAD + SECRET_NAME_MAX];
        size_t len;
};

static void secret_seal_bind(struct bound *b, const struct secret_about *about, size_t len)
{
        unsigned char *to = put_bytes(b->data, MAGIC, MAGIC_LEN);
        to = secret_seal_put(to, SEAL_VERSION, 4);
        b->len = (size_t)(put_entry_head(to, about, len) - b->data);
}

int seal_close(const struct seal *seal, const struct secret_about *about, const char *value, size_t len,
               struct seal_entry **ret)
{
        struct bound bound;
        struct seal_entry *entry = malloc(sizeof *entry + len + SEAL_TAG);
        if (!entry)
                return -ENOMEM;
        *entry = (struct seal_entry){.about = *about, .len = (uint32_t)len};
        secret_seal_bind(&bound, about, len);
        randombytes_buf(entry->nonce, sizeof entry->nonce);
        crypto_aead_xchacha20poly1305_ietf_encrypt(entry->sealed, NULL, (const unsigned char *)value, len,
                                                   bound.data, bound.len, NULL, entry->nonce, seal->value);
        *ret = entry;
        return 0;
}

int seal_open(const struct seal *seal, const struct seal_entry *entry, char *ret)
{
        struct bound bound;
        secret_seal_bind(&bound, &entry->about, entry->len);
        if (crypto_aead_xchacha20poly1305_ietf_decrypt((unsigned char *)ret, NULL, NULL, entry->sealed,
                                                       entry->len + (size_t)SEAL_TAG, bound.data, bound.len,
                                                       entry->nonce, seal->value) != 0)
                return -EBADMSG;
        return 0;
}

/* ---- the file ---- */

static size_t entry_size(const struct seal_entry *entry)
{
        return ENTRY_HEAD + strlen(entry->about.name) + SEAL_NONCE + entry->len + SEAL_TAG;
}

size_t seal_file_max(void)
{
        return HEAD +
               SECRETS_MAX *
                       (size_t)(ENTRY_HEAD + SECRET_NAME_MAX + SEAL_NONCE + SECRET_VALUE_MAX + SEAL_TAG) +
               HASH;
}

static void secret_seal_hash(const struct seal *seal, const unsigned char *data, size_t len,
                             unsigned char ret[HASH])
{
        crypto_generichash(ret, HASH, data, len, seal->file, sizeof seal->file);
}

int seal_write(const struct seal *seal, struct seal_entry *const *entries, size_t n, unsigned char **ret,
               size_t *ret_len)
{
        size_t size = HEAD + HASH;
        for (size_t i = 0; i < n; i++)
                size += entry_size(entries[i]);
        unsigned char *data = malloc(size), *to = data;
        if (!data)
                return -ENOMEM;
        to = put_bytes(to, MAGIC, MAGIC_LEN);
        to = secret_seal_put(to, SEAL_VERSION, 4);
        to = secret_seal_put(to, n, 4);
        to = put_bytes(to, seal->id, KEY_ID);
        for (size_t i = 0; i < n; i++) {
                to = put_entry_head(to, &entries[i]->about, entries[i]->len);
                to = put_bytes(to, entries[i]->nonce, SEAL_NONCE);
                to = put_bytes(to, entries[i]->sealed, entries[i]->len + (size_t)SEAL_TAG);
        }
        secret_seal_hash(seal, data, (size_t)(to - data), to);
        *ret = data;
        *ret_len = size;
        return 0;
}

static int damaged(struct cella_err *err)
{
        err_say(err, CELLA_INTERNAL, -EBADMSG, "the file '%s' is damaged or was changed", SECRET_FILE);
        return err_hint(
                err,
                "restore a copy of it in the state directory; or move it away, and set the secrets again");
}

static int check_head(const struct seal *seal, const unsigned char *data, size_t len, struct cella_err *err)
{
        if (len < HEAD + HASH || memcmp(data, MAGIC, MAGIC_LEN) != 0)
                return damaged(err);
        uint64_t version = secret_seal_get(data + MAGIC_LEN, 4);
        if (version > SEAL_VERSION) {
                err_say(err, CELLA_INTERNAL, -EPROTO,
                        "the file '%s' has version %llu, but this program supports only version %d",
                        SECRET_FILE, (unsigned long long)version, SEAL_VERSION);
                return err_hint(err, "use the version of Cella that wrote it, or a newer one");
        }
        if (version < SEAL_VERSION) /* there is no older version */
                return damaged(err);
        if (sodium_memcmp(data + MAGIC_LEN + 8, seal->id, KEY_ID) != 0) {
                err_say(err, CELLA_INTERNAL, -EKEYREJECTED, "the secrets were sealed with another key");
                return err_hint(err,
                                "restore the key that they were sealed with (%s, or the credential %s); or "
                                "move '%s' away and set them again",
                                SECRET_KEY_FILE, SECRET_KEY_CREDENTIAL, SECRET_FILE);
        }
        return 0;
}

/* Returns the length of the entry, or 0; its name, and the length of the value. */
static size_t secret_seal_look_at(const unsigned char *data, size_t len, struct secret_about *ret,
                                  size_t *ret_len)
{
        if (len < ENTRY_HEAD)
                return 0;
        size_t name_len = secret_seal_get(data, 2), value_len = secret_seal_get(data + 2, 4);
        if (value_len < SECRET_VALUE_MIN || value_len > SECRET_VALUE_MAX || name_len > SECRET_NAME_MAX ||
            len - ENTRY_HEAD < name_len + SEAL_NONCE + value_len + SEAL_TAG ||
            !secret_name_valid((const char *)data + ENTRY_HEAD, name_len))
                return 0;
        *ret = (struct secret_about){.created_ms = (int64_t)secret_seal_get(data + 6, 8),
                                     .changed_ms = (int64_t)secret_seal_get(data + 14, 8)};
        memcpy(ret->name, data + ENTRY_HEAD, name_len);
        *ret_len = value_len;
        return ENTRY_HEAD + name_len + SEAL_NONCE + value_len + SEAL_TAG;
}

static int read_entry(const unsigned char **at, const unsigned char *end, const char *before,
                      struct seal_entry **ret)
{
        struct secret_about about;
        size_t value_len = 0, size = secret_seal_look_at(*at, (size_t)(end - *at), &about, &value_len);
        if (size == 0 || strcmp(before, about.name) >= 0)
                return -EBADMSG;
        struct seal_entry *entry = malloc(sizeof *entry + value_len + SEAL_TAG);
        if (!entry)
                return -ENOMEM;
        *entry = (struct seal_entry){.about = about, .len = (uint32_t)value_len};
        const unsigned char *sealed = *at + size - value_len - SEAL_TAG;
        memcpy(entry->nonce, sealed - SEAL_NONCE, SEAL_NONCE);
        memcpy(entry->sealed, sealed, value_len + SEAL_TAG);
        *at += size;
        *ret = entry;
        return 0;
}

int seal_read(const struct seal *seal, const unsigned char *data, size_t len, struct seal_entry ***ret,
              size_t *ret_n, struct cella_err *err)
{
        unsigned char right[HASH];
        int r = check_head(seal, data, len, err);
        if (r < 0)
                return r;
        const unsigned char *at = data + HEAD, *end = data + len - HASH;
        secret_seal_hash(seal, data, len - HASH, right);
        if (sodium_memcmp(right, end, HASH) != 0)
                return damaged(err);
        size_t n = secret_seal_get(data + MAGIC_LEN + 4, 4), i = 0;
        struct seal_entry **entries = n <= SECRETS_MAX ? calloc(n + 1, sizeof *entries) : NULL;
        if (!entries)
                return n > SECRETS_MAX ? damaged(err) : err_set(err, CELLA_INTERNAL, -ENOMEM, "secrets");
        for (; i < n && r == 0; i++)
                r = read_entry(&at, end, i > 0 ? entries[i - 1]->about.name : "", &entries[i]);
        if (r == 0 && at == end) {
                *ret = entries;
                *ret_n = n;
                return 0;
        }
        for (size_t k = 0; k < n; k++)
                free(entries[k]);
        free(entries);
        return r == -ENOMEM ? err_set(err, CELLA_INTERNAL, r, "secrets") : damaged(err);
}
