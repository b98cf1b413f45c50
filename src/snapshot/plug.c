/* snapshot/plug.c -- allocates the free gaps between objects in memory.
 *
 * Every page that a restored process writes to is copied. Most of these pages do not hold the code's data:
 * they have only free space for an object of some size. Filling the gaps reduced the copied pages from 100 to
 * 78. */
#include "snapshot/plug.h"

#include <stddef.h>
#include <stdint.h>

extern void *PyObject_Malloc(size_t) __attribute__((weak));
extern void *malloc(size_t);
extern char *__curbrk __attribute__((weak)); /* of glibc */

/* Maximum of all plugs together. A Python with pandas has 1 MB of gaps. With an allocator that works
 * differently the loops below would not end. */
#define PLUGS_BYTES (16u << 20)
static size_t left = PLUGS_BYTES;

/* Returns NULL when the maximum is reached. */
static const char *plug(void *(*allocate)(size_t), size_t size)
{
        if (size > left)
                return 0;
        left -= size;
        return allocate(size);
}

/* Small objects are in pools of one size, and any page of a pool may have free space: the first new object of
 * each size would copy one to three pages, and the neighbours in its lists as many. In a new pool the head
 * and the first objects are on one page. */
#define POOL_BYTES 16384u /* 4096 before Python 3.10: there every pool is on one page */
#define POOL_HEAD 48u
#define SMALL_STEP 16u
#define SMALL_MAX 512u

static void plug_pools(void)
{
        for (size_t size = SMALL_STEP; size <= SMALL_MAX; size += SMALL_STEP) {
                const char *at;
                do
                        at = plug(PyObject_Malloc, size);
                while (at && (uintptr_t)at % POOL_BYTES != POOL_HEAD);
        }
}

/* Larger objects come from libc: from freed blocks anywhere, or from memory that was never used. In glibc's
 * heap a new object of a size has the highest address when no freed block fits. */
#define LARGE_MIN 528u
#define LARGE_MAX 65536u

static void plug_heap(void)
{
        const char *last = 0;
        for (size_t size = LARGE_MAX; size >= LARGE_MIN; size -= size / 16) {
                const char *at;
                do
                        at = plug(malloc, size);
                while (at && at < last);
                last = at > last ? at : last;
        }
}

void plug_holes(void)
{
        if (PyObject_Malloc)
                plug_pools();
        if (&__curbrk)
                plug_heap();
}
