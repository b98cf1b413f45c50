/* image/store/reference.h -- names of images: python:3.12-slim is docker.io/library/python:3.12-slim.
 *
 * Uses libc and base only, so that looking up and pulling use the same code. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cella.h"

#define REFERENCE_REGISTRY_SIZE 264   /* a host name of 253 characters, a port, and the NUL */
#define REFERENCE_REPOSITORY_SIZE 256 /* the maximum of registries, and the NUL */
#define REFERENCE_TAG_SIZE 129
#define REFERENCE_DIGEST_SIZE 72 /* "sha256:" and 64 digits */
#define REFERENCE_SIZE                                                                                       \
        (REFERENCE_REGISTRY_SIZE + REFERENCE_REPOSITORY_SIZE + REFERENCE_TAG_SIZE + REFERENCE_DIGEST_SIZE)

struct reference {
        char registry[REFERENCE_REGISTRY_SIZE]; /* host or host:port, in lower case */
        char repository[REFERENCE_REPOSITORY_SIZE];
        char tag[REFERENCE_TAG_SIZE];       /* empty: only a digest was given */
        char digest[REFERENCE_DIGEST_SIZE]; /* "": only a tag; if both are given, the digest is used */
};

/* Parses [HOST[:PORT]/]PATH[:TAG][@sha256:HEX].  Defaults: docker.io, library/ (there), latest. */
int reference_parse(const char *text, struct reference *ret, struct cella_err *err);

/* Writes the complete form: equal texts are equal references. */
void reference_write(const struct reference *reference, char ret[REFERENCE_SIZE]);

/* Returns the host to connect to, which is different for docker.io. */
const char *reference_host(const struct reference *reference);

/* Returns whether the host is localhost, 127.x.x.x or [::1], with any port or none. */
bool reference_host_is_loopback(const char *host);

/* Returns whether the text is "sha256:" and 64 lower-case digits; other algorithms are not supported. */
bool digest_is_valid(const char *text);
