/* image/registry/challenge.h -- parses WWW-Authenticate (RFC 9110, section 11). */
#pragma once
#include <stddef.h>

#define CHALLENGE_REALM_SIZE 1024
#define CHALLENGE_SERVICE_SIZE 256

enum challenge_scheme { CHALLENGE_NONE, CHALLENGE_BASIC, CHALLENGE_BEARER }; /* a greater value is better */

struct challenge {
        enum challenge_scheme scheme;
        char realm[CHALLENGE_REALM_SIZE]; /* with Bearer: URL of the token service */
        char service[CHALLENGE_SERVICE_SIZE];
};

/* Parses the value of one header, which may contain several challenges, and keeps the best of them and of
 * *best. Returns -EINVAL if the value is malformed or too long; *best is unchanged then. */
int challenge_read(const char *value, struct challenge *best);
