/* core/image/wait.h -- one wait for a job of cella-image: its events and its end.  See jobs.c. */
#pragma once
#include "core/core.h"
#include "wire/imager.h"

#define IMAGES_WAITING_MAX 64 /* jobs, those under way (IMAGER_JOBS_MAX) included */
#define IMAGES_OF_KEY_MAX 16  /* of those, one key's; the daemon's owner may have all */
#define IMAGES_LONG_MAX 6     /* imports and gc under way: they depend on their client, or on each other */

struct image_wait; /* opaque */

struct image_events {
        /* Any number of times, and never from within a call.  May be NULL. */
        void (*on_progress)(struct image_wait *wait, const struct imager_event *event, void *context);
        /* Of an import: image_feed() takes more.  May be NULL. */
        void (*on_room)(struct image_wait *wait, void *context);
        /* The last one; *wait is gone with it.  err NULL: done. */
        void (*on_end)(struct image_wait *wait, const struct imager_event *end, const struct cella_err *err,
                       void *context);
};

/* Ends the wait: no event follows.  Other waits for the same job go on; a job without any is cancelled. */
void image_wait_cancel(struct image_wait *wait);

struct images_stat {
        uint64_t images, bytes;       /* in the store; as of some seconds ago */
        uint64_t pulls, pulls_failed; /* since the start */
        unsigned jobs;                /* now */
};
