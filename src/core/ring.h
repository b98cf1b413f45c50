/* core/ring.h -- a buffer with the last bytes of a stream, addressed by their position in the stream. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct ring {
        char *data;
        size_t size, max;
        uint64_t total; /* bytes received */
};

void ring_init(struct ring *ring, size_t max);
void ring_done(struct ring *ring);
/* Returns 0 or -ENOMEM; then the bytes are counted but lost. */
int ring_add(struct ring *ring, const char *data, size_t len);
uint64_t ring_oldest(const struct ring *ring); /* position of the first byte that is kept */
/* Copies at most size bytes from `place` on, which must not be before the oldest.  Returns the number of
 * bytes. */
size_t ring_copy(const struct ring *ring, uint64_t place, char *to, size_t size);
