/* secret/key.h -- the key that the secrets are sealed with.
 *
 * From whoever started the daemon (a systemd credential), or from a file in the state directory that is
 * made when the first secret is set.  As text of 64 hex digits or base64, or as 32 bytes. */
#pragma once
#include <stdbool.h>

#include "base/auto.h"
#include "cella.h"

#define SECRET_KEY_SIZE 32
#define SECRET_KEY_FILE "secret.key"
#define SECRET_KEY_CREDENTIAL "cella-secret-key"

/* Where a key may come from before the state directory is asked. */
struct secret_key_source {
        int fd;                  /* open for reading, as a process with more rights hands it over; -1: none */
        const char *credentials; /* $CREDENTIALS_DIRECTORY; NULL: none */
};

struct secret_key {
        unsigned char bytes[SECRET_KEY_SIZE];
        char where[200]; /* for messages */
};

/* Reads the key, into guarded memory.  -ENOENT without *err: there is none yet.  A file of the state
 * directory that others can read, or that is not ours, is refused. */
int secret_key_read(int directory, const struct secret_key_source *source, struct secret_key **ret,
                    struct cella_err *err);
/* Makes the state directory's own; it is on disk when this returns. */
int secret_key_make(int directory, struct secret_key **ret, struct cella_err *err);
struct secret_key *secret_key_free(struct secret_key *key);
DEFINE_AUTO(struct secret_key *, secret_key_free)
