/* test/fuzz/seal.c -- the file of the secrets, as someone may have written it who has the key, or found a way
 * around the hash: no bytes break its reader, and what is read is written again as it was. */
#include "secret/seal.h"
#include "fuzz.h"

#define HEAD 32
#define HASH 32

static struct seal *seal;

/* Makes head and hash valid, so that the reader gets to the content between them. */
static void repair(unsigned char *file, size_t size, const struct secret_key *key)
{
        unsigned char own[HASH];
        memcpy(file, "cellasec\1\0\0", 12);
        crypto_kdf_derive_from_key(file + 16, 16, 3, "CellaSec", key->bytes);
        crypto_kdf_derive_from_key(own, HASH, 2, "CellaSec", key->bytes);
        crypto_generichash(file + size - HASH, HASH, file, size - HASH, own, HASH);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const struct secret_key key = {.bytes = "0123456789abcdef0123456789abcde"};
        struct seal_entry **entries = NULL;
        struct cella_err err = {0};
        unsigned char *file = malloc(size + 1), *again = NULL;
        size_t n = 0, again_len = 0;
        if (!seal && (sodium_init() < 0 || seal_new(&key, &seal) < 0))
                abort();
        memcpy(file, data, size);
        if (size >= HEAD + HASH)
                repair(file, size, &key);
        int r = seal_read(seal, file, size, &entries, &n, &err);
        if (r < 0 && (entries || !err.msg[0]))
                abort();
        if (r == 0 && (seal_write(seal, entries, n, &again, &again_len) < 0 || again_len != size ||
                       memcmp(again, file, size) != 0))
                abort();
        for (size_t i = 0; i < n; i++) {
                char *value = malloc(entries[i]->len + 1);
                seal_open(seal, entries[i], value);
                free(value);
                free(entries[i]);
        }
        free(entries);
        free(again);
        free(file);
        return 0;
}
