/* warm/plug.c -- gives away the room between what is in memory.
 *
 * Every page that a restored process writes to is copied, and most of those are not what the code works with
 * but where there was room for something of a size.  100 pages became 78 by this. */
#include "warm/plug.h"

#include <stddef.h>
#include <stdint.h>

extern void *PyObject_Malloc(size_t) __attribute__((weak));
extern void *malloc(size_t);

#define PLUGS_MAX 65536 /* of a size; there are hundreds at most */

/* Small objects are in pools, one size each, in which any page may have room: the first object of each size
 * is a page or three to copy, and as many of its neighbours in lists.  In a pool that begins, its head and
 * the first objects are on one page. */
#define POOL_BYTES 16384u /* before Python 3.10 4096: there every pool is on one page anyway */
#define POOL_HEAD 48u
#define SMALL_STEP 16u
#define SMALL_MAX 512u

static void plug_pools(void)
{
        for (size_t size = SMALL_STEP; size <= SMALL_MAX; size += SMALL_STEP)
                for (int i = 0; i < PLUGS_MAX; i++) {
                        const char *plug = PyObject_Malloc(size);
                        if (!plug || (uintptr_t)plug % POOL_BYTES == POOL_HEAD)
                                break;
                }
}

/* What is larger comes from libc: out of what was freed, here and there, or out of what has never been used.
 * The next of a size is behind all others when there is nothing else left for it. */
#define LARGE_MIN 528u
#define LARGE_MAX 65536u

static void plug_heap(void)
{
        const char *last = 0;
        for (size_t size = LARGE_MAX; size >= LARGE_MIN; size -= size / 16)
                for (int i = 0; i < PLUGS_MAX; i++) {
                        const char *plug = malloc(size);
                        if (!plug || plug > last) {
                                last = plug;
                                break;
                        }
                }
}

void plug_holes(void)
{
        if (PyObject_Malloc)
                plug_pools();
        plug_heap();
}
