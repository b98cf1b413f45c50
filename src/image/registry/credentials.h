/* image/registry/credentials.h -- who we are to a registry, as `docker login` left it in
 * ~/.docker/config.json.
 *
 * libc and base only: the file is read where the user is, and what it has for one registry is handed on. */
#pragma once
#include <stddef.h>

#include "cella.h"

#define CREDENTIALS_NAME_SIZE 256
#define CREDENTIALS_PASSWORD_SIZE 4096 /* some are tokens */
#define CREDENTIALS_TOKEN_SIZE 16384
#define CREDENTIALS_HELPER_SIZE 64

struct credentials { /* what is empty is not there */
        char username[CREDENTIALS_NAME_SIZE], password[CREDENTIALS_PASSWORD_SIZE];
        char identitytoken[CREDENTIALS_TOKEN_SIZE]; /* instead of the password: what a token service takes */
        /* They are kept by the program docker-credential-HELPER, which is not run. */
        char helper[CREDENTIALS_HELPER_SIZE];
};

/* Where the file is: $DOCKER_CONFIG/config.json, else ~/.docker/config.json.  -ENOENT without either
 * variable. */
int credentials_path(char *ret, size_t size);

/* What the file says for a registry (`docker.io`, `host:port`, as in struct reference): 1; 0: nothing, also
 * when there is no file; -errno if it cannot be read or is not what it should be. */
int credentials_read(const char *path, const char *registry, struct credentials *ret, struct cella_err *err);

/* The same of a document in memory, which is changed. */
int credentials_parse(char *text, size_t len, const char *registry, struct credentials *ret,
                      struct cella_err *err);

/* Leaves nothing of it in memory. */
void credentials_done(struct credentials *credentials);

static inline void credentials_done_auto(struct credentials *credentials)
{
        credentials_done(credentials);
}
