/* scan/memory.h -- where tree-sitter's memory comes from: a pool for each text, which is counted, so that
 * parsing can be ended in time, and freed as a whole: a tree of a million nodes is never walked to free it.
 */
#pragma once
#include <stddef.h>

#define MEMORY_CLASSES 64

struct memory {
        struct memory *outer; /* that of the text which this one was found in */
        struct memory_chunk *chunks;
        char *at, *end; /* what is left of the first chunk */
        struct memory_free {
                struct memory_free *next;
        } * free[MEMORY_CLASSES]; /* by size */
        struct memory_large *large;
        size_t used; /* what was taken from the system */
};

/* From now on, until memory_done(), this thread's tree-sitter allocates here.  Pools end in the reverse
 * order. */
void memory_init(struct memory *ret);
void memory_done(struct memory *memory);
