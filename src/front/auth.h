/* front/auth.h -- who sent a request, and whether it is allowed at all. */
#pragma once
#include "front/api.h"

/* Fills *ret.  -EACCES with CELLA_UNAUTHORIZED or CELLA_ACCESS_DENIED. */
int auth_check(struct api *api, const struct http_request *request, bool open, struct caller *ret,
               struct cella_err *err);
/* Returns the address of the client for the log: that of the connection, or, if a trusted proxy made it, the
 * one that X-Forwarded-For names. */
#define AUTH_CLIENT_SIZE 64
void auth_client(const struct api *api, const struct http_request *request, char ret[AUTH_CLIENT_SIZE]);
/* Whether the address that the daemon listens on, "ADDRESS:PORT", is a loopback address. */
bool auth_is_loopback(const char *listen);
/* Whether a caller that was authorised before still is: its key exists, or no key is needed. */
bool auth_may_stay(const struct core *core, const struct caller *caller, bool local);
