#include "scan/memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <tree_sitter/api.h>

#define STEP 16
#define SMALL_MAX ((size_t)STEP * MEMORY_CLASSES)
#define CHUNK_SIZE ((size_t)128 << 10)
#define HUGE_SIZE ((size_t)2 << 20) /* of a page, for texts that need many */

/* Sanitizers see nothing of what happens within a block that they know: let each be one of its own. */
#if defined(__SANITIZE_ADDRESS__)
#define ALL_LARGE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ALL_LARGE 1
#endif
#endif
#ifndef ALL_LARGE
#define ALL_LARGE 0
#endif

struct memory_chunk {
        struct memory_chunk *next;
        size_t unused;
};

/* Before each block is its size. */
struct header {
        size_t size;
};

struct memory_large {
        struct memory_large *next, **link;
        size_t unused;
        struct header header; /* the last, as in every block */
};

static _Thread_local struct memory *current;

_Noreturn static void no_memory(void)
{
        abort(); /* tree-sitter has no way to go on without */
}

static size_t class_of(size_t size)
{
        return (size - 1) / STEP;
}

static void link_large(struct memory *m, struct memory_large *block, size_t size)
{
        block->header.size = size;
        block->next = m->large;
        block->link = &m->large;
        if (block->next)
                block->next->link = &block->next;
        m->large = block;
        m->used += size;
}

static struct memory_large *unlink_large(struct memory *m, void *p)
{
        struct memory_large *block = (struct memory_large *)((char *)p - sizeof *block);
        *block->link = block->next;
        if (block->next)
                block->next->link = block->link;
        m->used -= block->header.size;
        return block;
}

/* To fault in small pages one by one would be a tenth of the time for a large text. */
static void add_chunk(struct memory *m)
{
        bool huge = m->used >= 8 * CHUNK_SIZE;
        size_t size = huge ? HUGE_SIZE : CHUNK_SIZE;
        struct memory_chunk *chunk = huge ? aligned_alloc(HUGE_SIZE, HUGE_SIZE) : malloc(CHUNK_SIZE);
        if (!chunk)
                no_memory();
        if (huge)
                madvise(chunk, HUGE_SIZE, MADV_HUGEPAGE);
        chunk->next = m->chunks;
        m->chunks = chunk;
        m->at = (char *)(chunk + 1);
        m->end = (char *)chunk + size;
        m->used += size;
}

static char *bump(struct memory *m, size_t size)
{
        if (size > (size_t)(m->end - m->at))
                add_chunk(m);
        char *found = m->at;
        m->at += size;
        return found;
}

static void *take(size_t size)
{
        struct memory *m = current;
        if (size == 0)
                size = 1;
        if (size > SMALL_MAX || ALL_LARGE) {
                struct memory_large *block = size < SIZE_MAX / 2 ? malloc(sizeof *block + size) : NULL;
                if (!block)
                        no_memory();
                link_large(m, block, size);
                return block + 1;
        }
        size_t class = class_of(size);
        struct memory_free *found = m->free[class];
        if (found) {
                m->free[class] = found->next;
                return found;
        }
        /* Blocks are aligned to 8, which is what the structures in them need. */
        struct header *header = (struct header *)bump(m, sizeof *header + (class + 1) * STEP);
        header->size = (class + 1) * STEP;
        return header + 1;
}

static size_t size_of(const void *p)
{
        return ((const struct header *)p - 1)->size;
}

static void give(void *p)
{
        struct memory *m = current;
        if (!p)
                return;
        size_t size = size_of(p);
        if (size > SMALL_MAX || ALL_LARGE) {
                free(unlink_large(m, p));
                return;
        }
        struct memory_free *block = p;
        block->next = m->free[class_of(size)];
        m->free[class_of(size)] = block;
}

static void *take_zeroed(size_t n, size_t size)
{
        size_t total;
        if (__builtin_mul_overflow(n, size, &total))
                no_memory();
        void *found = take(total);
        return memset(found, 0, total);
}

static void *resize(void *p, size_t size)
{
        size_t old = p ? size_of(p) : 0;
        if (p && (old > SMALL_MAX || ALL_LARGE) && size > SMALL_MAX) {
                struct memory_large *block = unlink_large(current, p);
                block = size < SIZE_MAX / 2 ? realloc(block, sizeof *block + size) : NULL;
                if (!block)
                        no_memory();
                link_large(current, block, size);
                return block + 1;
        }
        if (p && size <= old && !ALL_LARGE)
                return p;
        void *found = take(size);
        if (p)
                memcpy(found, p, old < size ? old : size);
        give(p);
        return found;
}

static void set_allocator(void)
{
        ts_set_allocator(take, take_zeroed, resize, give);
}

void memory_init(struct memory *ret)
{
        static pthread_once_t once = PTHREAD_ONCE_INIT;
        pthread_once(&once, set_allocator);
        *ret = (struct memory){.outer = current};
        current = ret;
}

void memory_done(struct memory *m)
{
        current = m->outer;
        while (m->chunks) {
                struct memory_chunk *chunk = m->chunks;
                m->chunks = chunk->next;
                free(chunk);
        }
        while (m->large) {
                struct memory_large *block = m->large;
                m->large = block->next;
                free(block);
        }
}
