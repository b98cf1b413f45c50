/* egress/synthetic.h -- the addresses that names have inside a sandbox.
 *
 * A name that may be looked up gets one of ours, from 198.18.0.0/15 and from a private /64 of IPv6: when the
 * code connects there we know the name it meant, and that is what we resolve and dial.  A bounded number of
 * names; the oldest is forgotten, and its address is not given to another before 130,000 more. */
#pragma once
#include <stdbool.h>

#include "egress/address.h"
#include "egress/name.h"

#define SYNTHETIC_NAMES_MAX 512u

struct synthetic; /* of one sandbox */

enum synthetic_kind {
        SYNTHETIC_NONE, /* an address of somebody's */
        SYNTHETIC_NAME,
        SYNTHETIC_PROXY, /* EGRESS_PROXY_ADDRESS */
        SYNTHETIC_OTHER, /* one of ours without a name */
};

struct synthetic *synthetic_new(void); /* NULL: no memory */
struct synthetic *synthetic_free(struct synthetic *synthetic);

/* The address of a name, the same as long as it is not forgotten.  -ENOMEM. */
int synthetic_give(struct synthetic *synthetic, const char *name, bool v6, struct address *ret);

/* Whose it is; synthetic may be NULL.  *ret_name lasts until the next synthetic_give(). */
enum synthetic_kind synthetic_find(const struct synthetic *synthetic, const struct address *address,
                                   const char **ret_name);
