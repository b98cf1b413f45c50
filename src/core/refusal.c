#include "core/refusal.h"

#include <string.h>

static void refill(struct refusals_bucket *b, unsigned share, int64_t now_ms)
{
        const int64_t full = (int64_t)REFUSALS_BURST * REFUSALS_EVERY_MS * share;
        b->tokens_ms = b->seen_ms == 0 ? full : b->tokens_ms + (now_ms - b->seen_ms) * share;
        if (b->tokens_ms > full)
                b->tokens_ms = full;
        b->seen_ms = now_ms;
}

static struct refusals_bucket *bucket_of(struct refusals *refusals, const char *key)
{
        struct refusals_bucket *oldest = &refusals->keys[0];
        for (unsigned i = 0; i < REFUSALS_KEYS; i++) {
                struct refusals_bucket *b = &refusals->keys[i];
                if (b->seen_ms != 0 && !strcmp(b->key, key))
                        return b;
                if (b->seen_ms < oldest->seen_ms)
                        oldest = b;
        }
        *oldest = (struct refusals_bucket){0};
        strncpy(oldest->key, key, sizeof oldest->key - 1);
        return oldest;
}

bool refusals_take(struct refusals *refusals, const char *key, int64_t now_ms, uint64_t *ret_unrecorded)
{
        struct refusals_bucket *b = bucket_of(refusals, key), *all = &refusals->all;
        refill(b, 1, now_ms);
        refill(all, 10, now_ms);
        if (b->tokens_ms < REFUSALS_EVERY_MS || all->tokens_ms < REFUSALS_EVERY_MS) {
                b->unrecorded++;
                return false;
        }
        b->tokens_ms -= REFUSALS_EVERY_MS;
        all->tokens_ms -= REFUSALS_EVERY_MS;
        *ret_unrecorded = b->unrecorded;
        b->unrecorded = 0;
        return true;
}
