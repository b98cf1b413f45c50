/* egress/cache.h -- cache of resolved names, with their TTL within limits. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "egress/dns.h"

#define CACHE_LEAST_S 1u
#define CACHE_MOST_S 3600u

struct resolved {
        unsigned
                code; /* DNS_OK: the name exists, possibly without addresses; DNS_NXDOMAIN; others: unknown */
        size_t n;
        struct address addresses[DNS_ADDRESSES_MAX];
};

/* Returns false if the name is not cached or has expired. */
bool cache_find(const char *name, int64_t now, struct resolved *ret);
/* Adds an entry.  ttl is in seconds and is limited to the range above. */
void cache_keep(const char *name, const struct resolved *resolved, uint32_t ttl, int64_t now);
/* Removes all entries, because the resolvers have changed. */
void cache_clear(void);
