/* egress/cache.h -- what names resolved to, for as long as their owners say (within bounds). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "egress/dns.h"

#define CACHE_LEAST_S 1u
#define CACHE_MOST_S 3600u

struct resolved {
        unsigned code; /* DNS_OK: it exists, though perhaps without addresses; DNS_NXDOMAIN; else it is not
                          known */
        size_t n;
        struct address addresses[DNS_ADDRESSES_MAX];
};

/* False: not known, or not any more. */
bool cache_find(const char *name, int64_t now, struct resolved *ret);
/* ttl in seconds; what it says is kept within the bounds above. */
void cache_keep(const char *name, const struct resolved *resolved, uint32_t ttl, int64_t now);
/* Forgets all: the resolvers are others now. */
void cache_clear(void);
