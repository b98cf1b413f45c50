/* core/refusal.h -- limits the number of rows with status "refused" in the log.
 *
 * A caller that is refused in a loop must not fill the disk, nor displace real executions from a log of
 * limited size.  So each key may have REFUSALS_BURST rows at once and then one per minute, all keys together
 * ten times as much.  Omitted rows are counted, and the next row contains the number (`unrecorded`).  Of the
 * code, 4 KiB are kept. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"

#define REFUSALS_BURST 100
#define REFUSALS_EVERY_MS 60000
#define REFUSALS_KEYS 64 /* keys with own counters; the least recently used is replaced */
#define REFUSALS_INPUT_MAX 4096

struct refusals_bucket {
        char key[ID_SIZE];
        int64_t tokens_ms; /* one row costs REFUSALS_EVERY_MS */
        int64_t seen_ms;   /* monotonic; 0: not in use */
        uint64_t unrecorded;
};

struct refusals {
        struct refusals_bucket all, keys[REFUSALS_KEYS];
};

/* Whether another row may be written.  *ret_unrecorded: the number of omitted rows since the last one. */
bool refusals_take(struct refusals *refusals, const char *key, int64_t now_ms, uint64_t *ret_unrecorded);
