/* egress/resolver.h -- names to addresses, by the host's own resolvers.
 *
 * Asked only for names that the policy allows already: nothing else leaves.  A and AAAA at once, by UDP from
 * a random port with a random number, by TCP when the answer is too long, the next server when one does not
 * answer.  Several who ask for the same name at the same time share one question. */
#pragma once
#include "base/list.h"
#include "egress/cache.h"

struct resolver_wait {
        struct list entry;
        /* Called once; the wait is over then. */
        void (*done)(struct resolver_wait *wait, const struct resolved *resolved);
};

void resolver_init(void);
void resolver_wait_init(struct resolver_wait *wait,
                        void (*done)(struct resolver_wait *wait, const struct resolved *resolved));

/* 1: *ret is there at once.  0: wait->done will be called.  -EBUSY: too many questions are under way; -errno.
 */
int resolver_ask(const char *name, struct resolver_wait *wait, struct resolved *ret);
/* It will not be called; fine for one that does not wait. */
void resolver_cancel(struct resolver_wait *wait);
