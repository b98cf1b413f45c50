/* image/store/reference.h -- names of images: python:3.12-slim is docker.io/library/python:3.12-slim.
 *
 * libc and base only: who looks a name up and who pulls it must mean the same. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cella.h"

#define REFERENCE_REGISTRY_SIZE 264   /* a host name of 253 characters, a port, and the NUL */
#define REFERENCE_REPOSITORY_SIZE 256 /* what registries accept, and the NUL */
#define REFERENCE_TAG_SIZE 129
#define REFERENCE_DIGEST_SIZE 72 /* "sha256:" and 64 digits */
#define REFERENCE_SIZE                                                                                       \
        (REFERENCE_REGISTRY_SIZE + REFERENCE_REPOSITORY_SIZE + REFERENCE_TAG_SIZE + REFERENCE_DIGEST_SIZE)

struct reference {
        char registry[REFERENCE_REGISTRY_SIZE]; /* host or host:port, in lower case */
        char repository[REFERENCE_REPOSITORY_SIZE];
        char tag[REFERENCE_TAG_SIZE];       /* empty: only a digest was given */
        char digest[REFERENCE_DIGEST_SIZE]; /* empty: only a tag; with both, the digest is what counts */
};

/* [HOST[:PORT]/]PATH[:TAG][@sha256:HEX].  What is not given: docker.io, library/ (there), latest. */
int reference_parse(const char *text, struct reference *ret, struct cella_err *err);

/* All of it written out: equal texts are equal references. */
void reference_write(const struct reference *reference, char ret[REFERENCE_SIZE]);

/* The host to talk to, which for docker.io is another. */
const char *reference_host(const struct reference *reference);

/* localhost, 127.x.x.x or [::1], with any port or none: a host that no wire leads to. */
bool reference_host_is_loopback(const char *host);

/* "sha256:" and 64 digits in lower case; other algorithms are not for us. */
bool digest_is_valid(const char *text);
