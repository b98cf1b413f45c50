/* core/image/wait.h -- one wait for a job of cella-image: callbacks and cancellation.  See jobs.c. */
#pragma once
#include "core/core.h"
#include "wire/imager.h"

#define IMAGES_WAITING_MAX 64 /* jobs, including active ones (IMAGER_JOBS_MAX) */
#define IMAGES_OF_KEY_MAX 16  /* of one key; the owner may have all */
#define IMAGES_LONG_MAX 6     /* active imports and gc: they depend on their client or on each other */

struct image_wait; /* opaque */

struct image_events {
        /* Called any number of times, never from within a call.  May be NULL. */
        void (*on_progress)(struct image_wait *wait, const struct imager_event *event, void *context);
        /* For an import: image_feed() accepts more.  May be NULL. */
        void (*on_room)(struct image_wait *wait, void *context);
        /* The last callback; *wait is freed afterwards.  err NULL: success. */
        void (*on_end)(struct image_wait *wait, const struct imager_event *end, const struct cella_err *err,
                       void *context);
};

/* Ends the wait without callbacks.  Other waits for the same job continue; a job without any is cancelled. */
void image_wait_cancel(struct image_wait *wait);

struct images_stat {
        uint64_t images, bytes;       /* in the store; some seconds old */
        uint64_t pulls, pulls_failed; /* since the start */
        unsigned jobs;                /* now */
};
