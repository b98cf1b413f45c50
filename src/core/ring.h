/* core/ring.h -- the last bytes of a stream, found by their place in it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct ring {
        char *data;
        size_t size, max;
        uint64_t total; /* bytes that came */
};

void ring_init(struct ring *ring, size_t max);
void ring_done(struct ring *ring);
/* 0 or -ENOMEM: then what came is counted, and lost. */
int ring_add(struct ring *ring, const char *data, size_t len);
uint64_t ring_oldest(const struct ring *ring); /* the place of the first byte that is kept */
/* Copies at most size bytes from place on (which must not lie before the oldest).  How many. */
size_t ring_copy(const struct ring *ring, uint64_t place, char *to, size_t size);
