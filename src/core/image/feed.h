/* core/image/feed.h -- an archive on its way to cella-image: a pipe that is filled as fast as it is read. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct image_feed; /* opaque */

/* *ret_end: the end to read from, the caller's. */
int image_feed_new(uv_loop_t *loop, void (*on_room)(void *context), void *context, struct image_feed **ret,
                   int *ret_end);
/* Whoever reads sees the end, unless it was told before that this is none. */
struct image_feed *image_feed_free(struct image_feed *feed);

/* Has less than a kilobyte each second come for half a minute, although there was room for it?  To be asked
 * about once a second. */
bool image_feed_is_slow(struct image_feed *feed, int64_t now_us);

/* How much was taken: all of it when nobody reads any more.  on_room comes if it was not all. */
size_t image_feed_write(struct image_feed *feed, const char *data, size_t len);
