/* front/auth.h -- who a request comes from, and whether it may come at all. */
#pragma once
#include "front/api.h"

/* Fills *ret.  -EACCES with CELLA_UNAUTHORIZED or CELLA_ACCESS_DENIED. */
int auth_check(struct api *api, const struct http_request *request, bool open, struct caller *ret,
               struct cella_err *err);
/* Whether what the daemon listens on, "ADDRESS:PORT", is this machine's own. */
bool auth_is_loopback(const char *listen);
/* Whether one that was let in still would be: its key is there, or none is needed. */
bool auth_may_stay(const struct box *box, const struct caller *caller, bool local);
