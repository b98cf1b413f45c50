/* snapshot/plug.c -- gives away the room between what is in memory.
 *
 * Every page that a restored process writes to is copied, and most of those are not what the code works with
 * but where there was room for something of a size.  100 pages became 78 by this. */
#include "snapshot/plug.h"

#include <stddef.h>
#include <stdint.h>

extern void *PyObject_Malloc(size_t) __attribute__((weak));
extern void *malloc(size_t);
extern char *__curbrk __attribute__((weak)); /* glibc's */

/* Of all plugs together.  There is 1 MB to plug in a Python with pandas; where memory is given out in another
 * way than is thought here, there is no end to it. */
#define PLUGS_BYTES (16u << 20)
static size_t left = PLUGS_BYTES;

/* NULL: that was the last. */
static const char *plug(void *(*allocate)(size_t), size_t size)
{
        if (size > left)
                return 0;
        left -= size;
        return allocate(size);
}

/* Small objects are in pools, one size each, in which any page may have room: the first object of each size
 * is a page or three to copy, and as many of its neighbours in lists.  In a pool that begins, its head and
 * the first objects are on one page. */
#define POOL_BYTES 16384u /* before Python 3.10 4096: there every pool is on one page anyway */
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

/* What is larger comes from libc: out of what was freed, here and there, or out of what has never been used.
 * The next of a size is behind all others when there is nothing else left for it; in glibc's heap, that is.
 */
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
