#include "core/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void ring_init(struct ring *ring, size_t max)
{
        *ring = (struct ring){.max = max};
}

void ring_done(struct ring *ring)
{
        free(ring->data);
        *ring = (struct ring){0};
}

uint64_t ring_oldest(const struct ring *ring)
{
        return ring->total > ring->size ? ring->total - ring->size : 0;
}

/* While the buffer can still grow, nothing was overwritten: the data stays in place. */
static int ring_grow(struct ring *ring, uint64_t need)
{
        if (ring->size >= need || ring->size == ring->max)
                return 0;
        size_t size = ring->size ? ring->size * 2 : 4096;
        while (size < need)
                size *= 2;
        if (size > ring->max)
                size = ring->max;
        char *data = realloc(ring->data, size);
        if (!data)
                return -ENOMEM;
        ring->data = data;
        ring->size = size;
        return 0;
}

int ring_add(struct ring *ring, const char *data, size_t len)
{
        if (ring->total <= ring->size &&
            ring_grow(ring, ring->total + len < ring->max ? ring->total + len : ring->max) < 0) {
                ring->max = ring->size; /* keep the current size */
                if (ring->size == 0) {
                        ring->total += len;
                        return -ENOMEM;
                }
        }
        if (ring->size == 0) {
                ring->total += len;
                return 0;
        }
        if (len > ring->size) {
                ring->total += len - ring->size;
                data += len - ring->size;
                len = ring->size;
        }
        size_t at = (size_t)(ring->total % ring->size), first = ring->size - at < len ? ring->size - at : len;
        memcpy(ring->data + at, data, first);
        memcpy(ring->data, data + first, len - first);
        ring->total += len;
        return 0;
}

size_t ring_copy(const struct ring *ring, uint64_t place, char *to, size_t size)
{
        if (place >= ring->total || ring->size == 0)
                return 0;
        size_t len = ring->total - place < size ? (size_t)(ring->total - place) : size;
        size_t at = (size_t)(place % ring->size), first = ring->size - at < len ? ring->size - at : len;
        memcpy(to, ring->data + at, first);
        memcpy(to + first, ring->data, len - first);
        return len;
}
