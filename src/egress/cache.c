/* egress/cache.c -- see cache.h.
 *
 * A 4-way set-associative cache; the entry that expires first is replaced.  So it never grows, lookups are
 * short, and flooding it with names at worst costs others another query. */
#include "egress/cache.h"

#include <string.h>

#include "egress/policy/hash.h"

#define SETS 512u
#define WAYS 4u

struct entry {
        int64_t until; /* 0: empty */
        char name[NAME_MAX_BYTES];
        struct resolved resolved;
};

static struct entry entries[SETS][WAYS]; /* untouched pages use no memory */

static struct entry *set_of(const char *name)
{
        return entries[(hash_text(HASH_BEGIN, name) >> 16) % SETS];
}

bool cache_find(const char *name, int64_t now, struct resolved *ret)
{
        struct entry *set = set_of(name);

        for (unsigned i = 0; i < WAYS; i++) {
                if (set[i].until > now && strcmp(set[i].name, name) == 0) {
                        *ret = set[i].resolved;
                        return true;
                }
        }
        return false;
}

void cache_keep(const char *name, const struct resolved *resolved, uint32_t ttl, int64_t now)
{
        struct entry *set = set_of(name), *to = &set[0];

        for (unsigned i = 0; i < WAYS; i++) {
                if (strcmp(set[i].name, name) == 0) {
                        to = &set[i];
                        break;
                }
                if (set[i].until < to->until)
                        to = &set[i];
        }
        if (ttl < CACHE_LEAST_S)
                ttl = CACHE_LEAST_S;
        if (ttl > CACHE_MOST_S)
                ttl = CACHE_MOST_S;
        to->until = now + (int64_t)ttl * 1000000;
        memcpy(to->name, name, strlen(name) + 1);
        to->resolved = *resolved;
}

void cache_clear(void)
{
        for (unsigned i = 0; i < SETS; i++)
                for (unsigned j = 0; j < WAYS; j++)
                        entries[i][j].until = 0;
}
