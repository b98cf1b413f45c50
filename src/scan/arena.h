/* scan/arena.h -- an arena allocator: all its memory is freed at once. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define ARENA_MAX (64u << 20) /* more than that is refused */

struct arena {
        struct arena_block *blocks;
        size_t used; /* of the first block */
        size_t total;
        bool exhausted; /* an allocation was refused */
};

/* Returns zeroed memory aligned for any type, or NULL if the limit is reached or memory is exhausted. */
void *arena_alloc(struct arena *arena, size_t size);
void arena_done(struct arena *arena);
