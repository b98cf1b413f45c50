/* secret/key.h -- the key that encrypts the secrets.
 *
 * It comes from the process that started the daemon (a systemd credential), or from a file in the state
 * directory that is created with the first secret.  Format: 64 hexadecimal digits, base64, or 32 bytes. */
#pragma once
#include <stdbool.h>

#include "base/auto.h"
#include "cella.h"

#define SECRET_KEY_SIZE 32
#define SECRET_KEY_FILE "secret.key"
#define SECRET_KEY_CREDENTIAL "cella-secret-key"

/* Sources that have precedence over the state directory. */
struct secret_key_source {
        int fd;                  /* open for reading, passed by a process with more rights; -1: none */
        const char *credentials; /* $CREDENTIALS_DIRECTORY; NULL: none */
};

struct secret_key {
        unsigned char bytes[SECRET_KEY_SIZE];
        char where[200]; /* for messages */
};

/* Reads the key into guarded memory.  Returns -ENOENT without setting *err if there is none yet.  Refuses a
 * file in the state directory that others can read or that belongs to another user.  The caller frees *ret.
 */
int secret_key_read(int directory, const struct secret_key_source *source, struct secret_key **ret,
                    struct cella_err *err);
/* Creates a key in the state directory; it is on disk when the function returns. */
int secret_key_make(int directory, struct secret_key **ret, struct cella_err *err);
struct secret_key *secret_key_free(struct secret_key *key);
DEFINE_AUTO(struct secret_key *, secret_key_free)
