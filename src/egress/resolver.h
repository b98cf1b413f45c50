/* egress/resolver.h -- resolves names using the host's resolvers.
 *
 * Only names that the policy allows are resolved; other names never leave the host.  A and AAAA are queried
 * at the same time, by UDP from a random port with a random id, by TCP if the reply is too long, and from
 * the next server if one does not reply.  Concurrent requests for the same name share one query. */
#pragma once
#include "base/list.h"
#include "egress/cache.h"

struct resolver_wait {
        struct list entry;
        /* Called once, then the wait is over. */
        void (*done)(struct resolver_wait *wait, const struct resolved *resolved);
};

void resolver_init(void);
void resolver_wait_init(struct resolver_wait *wait,
                        void (*done)(struct resolver_wait *wait, const struct resolved *resolved));

/* Returns 1: *ret is set; 0: wait->done will be called; -EBUSY: too many active queries; or -errno. */
int resolver_ask(const char *name, struct resolver_wait *wait, struct resolved *ret);
/* wait->done will not be called.  wait may be inactive. */
void resolver_cancel(struct resolver_wait *wait);
