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
        MAY_HOST = 1u << 7,    /* run code outside of a sandbox, where the mode has it so */
        MAY_MONITOR = 1u << 8, /* see the counters of the whole daemon */
};

extern const char *const capability_words[]; /* by bit */

struct caller {
        bool owner;        /* of the daemon: the Unix socket, or loopback without keys */
        char key[ID_SIZE]; /* "" for the owner */
        char name[129];    /* of the key, for the log; "" for the owner */
        unsigned capabilities;
        enum tier tier_max;
        struct cella_limits limits_max; /* 0: none of its own */
        uint32_t sandboxes_max;         /* 0: none of its own */
};

/* The fields of a key, as POST /v1/keys takes them. */
const struct field *key_fields(void);

void caller_owner(struct caller *ret);
void caller_from_key(const json_t *key, struct caller *ret);

/* -EACCES and "access denied: sandbox.exec" if it may not. */
int caller_may(const struct caller *caller, enum capability what, struct cella_err *err);
/* Limits, and the tier, within what the key has.  Says which is not. */
int caller_allows(const struct caller *caller, const struct cella_limits *limits, struct cella_err *err);
/* Whether the caller may see and use a sandbox or execution of this key ("" for the owner). */
bool caller_sees(const struct caller *caller, const char *key);
/* Whether it may see the counters of the whole daemon: the owner, `monitor`, and `audit`, which shows every
 * execution anyway.  Any other caller sees only its own. */
bool caller_sees_counters(const struct caller *caller);
