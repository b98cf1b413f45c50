/* core/caller.h -- who sent a request, and what this caller may do. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/id.h"
#include "cella.h"
#include "core/settings/settings.h"

enum capability {
        MAY_EXEC = 1u << 0,
        MAY_MANAGE = 1u << 1,
        MAY_FILES = 1u << 2,
        MAY_IMAGES = 1u << 3,
        MAY_SECRETS = 1u << 4,
        MAY_SETTINGS = 1u << 5,
        MAY_AUDIT = 1u << 6,
        MAY_HOST = 1u << 7,    /* run code outside of a sandbox, if the mode allows it */
        MAY_MONITOR = 1u << 8, /* see the counters of the whole daemon */
};

extern const char *const capability_words[]; /* by bit */

#define CALLER_TRACE_SIZE 56

struct caller {
        bool owner;        /* of the daemon: uses the Unix socket, or loopback without keys */
        char key[ID_SIZE]; /* id of the key; "" for the owner */
        char name[129];    /* of the key, for the log; "" for the owner */
        unsigned capabilities;
        enum tier tier_max;
        struct cella_limits limits_max; /* 0: no limit of the key */
        uint32_t sandboxes_max;         /* 0: no limit of the key */
        /* Names for requests that give none, where the scope or the workspace needs one; "": none.  A front
         * end with connections sets the session.  The agent is the key, or the client of a front end. */
        char session[129], agent[64];
        char trace[CALLER_TRACE_SIZE]; /* the request's traceparent header; "": none */
};

/* Stores the header `traceparent` of a request (W3C Trace Context, version 00), which the log will show.  A
 * header that is not exactly as specified is ignored, as the specification asks.  NULL: there is none. */
void caller_set_trace(struct caller *caller, const char *header);

/* Sets the agent of requests that name none, if the caller has none yet.  Characters that cannot be in the
 * name of a workspace become '-'. */
void caller_set_agent(struct caller *caller, const char *name);

/* Returns the fields of a key, for POST /v1/keys. */
const struct field *key_fields(void);

void caller_owner(struct caller *ret);
void caller_from_key(const json_t *key, struct caller *ret);

/* Returns 0, or -EACCES with "access denied: sandbox.exec". */
int caller_may(const struct caller *caller, enum capability what, struct cella_err *err);
/* Checks the limits against those of the key.  The error names the limit that is too high. */
int caller_allows(const struct caller *caller, const struct cella_limits *limits, struct cella_err *err);
/* Whether the caller may see and use a sandbox or execution of this key ("" for the owner). */
bool caller_sees(const struct caller *caller, const char *key);
/* Whether the caller may see the counters of the whole daemon: the owner, `monitor`, and `audit` (which shows
 * every execution anyway).  Other callers see only their own. */
bool caller_sees_counters(const struct caller *caller);
