/* scan/arena.h -- memory that is freed all at once. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define ARENA_MAX (64u << 20) /* more than that is refused */

struct arena {
        struct arena_block *blocks;
        size_t used; /* of the first block */
        size_t total;
        bool exhausted; /* something was refused */
};

/* Zeroed and aligned for anything; NULL when there is no more. */
void *arena_alloc(struct arena *arena, size_t size);
void arena_done(struct arena *arena);
