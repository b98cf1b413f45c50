/* egress/synthetic.h -- the addresses of names inside a sandbox.
 *
 * A name that may be looked up gets a synthetic address in 198.18.0.0/15 and in a private IPv6 /64.  When
 * the code connects to it, the name is known, and this name is resolved and connected to.  The number of
 * names is limited; the oldest is dropped, and its address is not reused for another name before 130,000
 * further names. */
#pragma once
#include <stdbool.h>

#include "egress/policy/address.h"
#include "egress/policy/name.h"

#define SYNTHETIC_NAMES_MAX 512u

struct synthetic; /* of one sandbox */

enum synthetic_kind {
        SYNTHETIC_NONE, /* not a synthetic address */
        SYNTHETIC_NAME,
        SYNTHETIC_PROXY, /* EGRESS_PROXY_ADDRESS */
        SYNTHETIC_OTHER, /* a synthetic address without a name */
};

struct synthetic *synthetic_new(void); /* NULL if there is no memory */
struct synthetic *synthetic_free(struct synthetic *synthetic);

/* Returns the address of a name, which does not change until the name is dropped.  0 or -ENOMEM. */
int synthetic_give(struct synthetic *synthetic, const char *name, bool v6, struct address *ret);

/* Returns what the address belongs to; synthetic may be NULL.  *ret_name is valid until the next
 * synthetic_give(). */
enum synthetic_kind synthetic_find(const struct synthetic *synthetic, const struct address *address,
                                   const char **ret_name);
