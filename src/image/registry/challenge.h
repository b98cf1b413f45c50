/* image/registry/challenge.h -- what WWW-Authenticate asks for (RFC 9110, section 11). */
#pragma once
#include <stddef.h>

#define CHALLENGE_REALM_SIZE 1024
#define CHALLENGE_SERVICE_SIZE 256

enum challenge_scheme {
        CHALLENGE_NONE,
        CHALLENGE_BASIC,
        CHALLENGE_BEARER
}; /* the better one is the greater */

struct challenge {
        enum challenge_scheme scheme;
        char realm[CHALLENGE_REALM_SIZE]; /* with Bearer: where tokens are given out */
        char service[CHALLENGE_SERVICE_SIZE];
};

/* Reads one header's value, which may have several challenges, and keeps the best of these and of what *best
 * had. -EINVAL if it is not of that form or too long: then *best is as it was. */
int challenge_read(const char *value, struct challenge *best);
