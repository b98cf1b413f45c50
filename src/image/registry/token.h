/* image/registry/token.h -- authorization of requests to a registry. */
#pragma once
#include "image/registry/session.h"

/* The function `authorize` of a session (session.h): sets name and password, or gets a token from the service
 * that the challenge names. */
int token_authorize(struct session *s, const struct challenge *challenge, struct cella_err *err);
