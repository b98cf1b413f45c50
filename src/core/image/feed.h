/* core/image/feed.h -- passes an uploaded archive to cella-image through a pipe. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct image_feed; /* opaque */

/* Makes the pipe.  *ret_end: its read end, owned by the caller.  on_room: called when it is writable
 * again. */
int image_feed_new(uv_loop_t *loop, void (*on_room)(void *context), void *context, struct image_feed **ret,
                   int *ret_end);
/* Closes the pipe.  The reader takes this for the end of the archive, unless the job was cancelled before. */
struct image_feed *image_feed_free(struct image_feed *feed);

/* Whether less than 1 KiB/s arrived for 30 s although there was room.  Call about once a second. */
bool image_feed_is_slow(struct image_feed *feed, int64_t now_us);

/* Returns the number of bytes written; len if the reader is gone.  If less than len, on_room follows. */
size_t image_feed_write(struct image_feed *feed, const char *data, size_t len);
