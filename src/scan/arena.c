#include "scan/arena.h"

#include <stdlib.h>

#define BLOCK_SIZE ((size_t)64 << 10)

struct arena_block {
        struct arena_block *next;
        size_t size;
        _Alignas(16) char data[];
};

static struct arena_block *add_block(struct arena *arena, size_t size)
{
        if (size < BLOCK_SIZE)
                size = BLOCK_SIZE;
        if (size > ARENA_MAX - arena->total)
                return NULL;
        struct arena_block *block = calloc(1, sizeof *block + size);
        if (!block)
                return NULL;
        block->size = size;
        block->next = arena->blocks;
        arena->blocks = block;
        arena->used = 0;
        arena->total += size;
        return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
        if (size > ARENA_MAX)
                size = ARENA_MAX; /* refused below */
        size = (size + 15) & ~(size_t)15;
        struct arena_block *block = arena->blocks;
        if (!block || size > block->size - arena->used)
                block = add_block(arena, size);
        if (!block) {
                arena->exhausted = true;
                return NULL;
        }
        void *found = block->data + arena->used;
        arena->used += size;
        return found;
}

void arena_done(struct arena *arena)
{
        while (arena->blocks) {
                struct arena_block *block = arena->blocks;
                arena->blocks = block->next;
                free(block);
        }
}
