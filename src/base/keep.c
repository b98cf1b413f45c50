#include "base/keep.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 4096
#define MARKER_MAX 64

void keep_init(struct keep *k, size_t max)
{
        *k = (struct keep){.max = max};
}

void keep_done(struct keep *k)
{
        free(k->data);
        *k = (struct keep){0};
}

bool keep_truncated(const struct keep *k)
{
        return k->total > k->max;
}

/* Enlarges data.  If there is no memory, max becomes the current size.  At that point, all bytes are at the
 * offset at which they arrived, which is also their place in a ring buffer of the new maximum. */
static void keep_grow(struct keep *k, uint64_t need)
{
        size_t size = k->size ? k->size : FIRST_SIZE;
        if (need > k->max)
                need = k->max;
        while (size < need)
                size *= 2;
        if (size > k->max)
                size = k->max;
        if (size == k->size)
                return;
        char *data = realloc(k->data, size);
        if (!data) {
                k->max = k->size;
                return;
        }
        k->data = data;
        k->size = size;
}

void keep_add(struct keep *k, const char *data, size_t len)
{
        keep_grow(k, k->total + len);
        size_t half = k->max / 2, ring = k->max - half;
        while (len > 0) {
                size_t at, room;
                if (k->total < half) {
                        at = (size_t)k->total;
                        room = half - at;
                } else if (ring == 0) {
                        k->total += len;
                        return;
                } else {
                        size_t in_ring = (size_t)((k->total - half) % ring);
                        at = half + in_ring;
                        room = ring - in_ring;
                }
                size_t n = len < room ? len : room;
                memcpy(k->data + at, data, n);
                k->total += n;
                data += n;
                len -= n;
        }
}

int keep_take(struct keep *k, char **ret, size_t *ret_len)
{
        if (!keep_truncated(k)) {
                *ret = k->data;
                *ret_len = (size_t)k->total;
                *k = (struct keep){.max = k->max};
                return 0;
        }
        size_t half = k->max / 2, ring = k->max - half;
        char *all = malloc(k->max + MARKER_MAX);
        if (!all)
                return -ENOMEM;
        if (half > 0)
                memcpy(all, k->data, half);
        size_t len = half;
        len += (size_t)snprintf(all + len, MARKER_MAX, "\n[... %llu bytes left out ...]\n",
                                (unsigned long long)(k->total - k->max));
        if (ring > 0) {
                size_t oldest = (size_t)((k->total - half) % ring);
                memcpy(all + len, k->data + half + oldest, ring - oldest);
                memcpy(all + len + ring - oldest, k->data + half, oldest);
                len += ring;
        }
        size_t max = k->max;
        keep_done(k);
        k->max = max;
        *ret = all;
        *ret_len = len;
        return 0;
}
