/* image/registry/credentials.h -- credentials for a registry, from ~/.docker/config.json (`docker login`).
 *
 * Uses libc and base only: the client reads the file as the user, and passes on the entry of one registry. */
#pragma once
#include <stddef.h>

#include "base/auto.h"
#include "cella.h"

#define CREDENTIALS_NAME_SIZE 256
#define CREDENTIALS_PASSWORD_SIZE 4096 /* may be a token */
#define CREDENTIALS_TOKEN_SIZE 16384
#define CREDENTIALS_HELPER_SIZE 64

struct credentials { /* missing values are "" */
        char username[CREDENTIALS_NAME_SIZE], password[CREDENTIALS_PASSWORD_SIZE];
        char identitytoken[CREDENTIALS_TOKEN_SIZE]; /* used instead of the password at a token service */
        /* The program docker-credential-HELPER has the credentials; it is not run. */
        char helper[CREDENTIALS_HELPER_SIZE];
};

/* Sets ret to the path of the file: $DOCKER_CONFIG/config.json, or ~/.docker/config.json.  -ENOENT without
 * either variable. */
int credentials_path(char *ret, size_t size);

/* Reads the entry of a registry (`docker.io`, `host:port`, as in struct reference).  Returns 1; 0 if there is
 * none or no file; -errno if the file cannot be read or is invalid. */
int credentials_read(const char *path, const char *registry, struct credentials *ret, struct cella_err *err);

/* The same for a document in memory. */
int credentials_parse(const char *text, size_t len, const char *registry, struct credentials *ret,
                      struct cella_err *err);

/* Wipes the credentials. */
void credentials_done(struct credentials *credentials);

DEFINE_AUTO_DONE(struct credentials, credentials_done)
