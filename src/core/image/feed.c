#include "core/image/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define PIPE_BYTES (1 << 20)
#define SLOW_US 30000000
#define SLOW_BYTES 30720

struct image_feed {
        int fd;
        uv_poll_t poll;
        int64_t since_us; /* start of the current interval, in which `bytes` were received; 0: not started */
        uint64_t bytes;
        void (*on_room)(void *context);
        void *context;
};

static void image_feed_on_poll(uv_poll_t *poll, int status, int events)
{
        struct image_feed *feed = poll->data;
        (void)status, (void)events;
        uv_poll_stop(poll);
        feed->on_room(feed->context);
}

int image_feed_new(uv_loop_t *loop, void (*on_room)(void *context), void *context, struct image_feed **ret,
                   int *ret_end)
{
        int pair[2];
        struct image_feed *feed = calloc(1, sizeof *feed);
        if (!feed || pipe2(pair, O_CLOEXEC) < 0) {
                int r = feed ? -errno : -ENOMEM;
                free(feed);
                return r;
        }
        fcntl(pair[1], F_SETPIPE_SZ, PIPE_BYTES);         /* or the maximum of this user */
        int r = uv_poll_init(loop, &feed->poll, pair[1]); /* this makes it non-blocking */
        if (r < 0) {
                close(pair[0]);
                close(pair[1]);
                free(feed);
                return r;
        }
        feed->fd = pair[1];
        feed->poll.data = feed;
        feed->on_room = on_room;
        feed->context = context;
        *ret = feed;
        *ret_end = pair[0];
        return 0;
}

static void image_feed_on_closed(uv_handle_t *handle)
{
        free(handle->data);
}

struct image_feed *image_feed_free(struct image_feed *feed)
{
        if (!feed)
                return NULL;
        uv_poll_stop(&feed->poll);
        close(feed->fd);
        uv_close((uv_handle_t *)&feed->poll, image_feed_on_closed);
        return NULL;
}

bool image_feed_is_slow(struct image_feed *feed, int64_t now_us)
{
        bool full = uv_is_active((uv_handle_t *)&feed->poll); /* then the reader is slow */
        if (feed->since_us && !full && now_us - feed->since_us < SLOW_US)
                return false;
        bool slow = feed->since_us && !full && feed->bytes < SLOW_BYTES;
        feed->since_us = now_us;
        feed->bytes = 0;
        return slow;
}

size_t image_feed_write(struct image_feed *feed, const char *data, size_t len)
{
        ssize_t n;
        do {
                n = write(feed->fd, data, len);
        } while (n < 0 && errno == EINTR);
        if (n < 0 && errno != EAGAIN)
                return len; /* the end of the job reports what happened */
        feed->bytes += n > 0 ? (uint64_t)n : 0;
        if (n < (ssize_t)len)
                uv_poll_start(&feed->poll, UV_WRITABLE, image_feed_on_poll);
        return n < 0 ? 0 : (size_t)n;
}
