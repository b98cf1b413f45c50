/* core/image/images.h -- the daemon's images: who waits for one, and the jobs of cella-image.
 *
 * Images are read from the store (image/store/store.h).  Only cella-image changes the store.  The keeper
 * starts it for the first job; it ends some time after the last one.  It unpacks untrusted archives, so its
 * answers are untrusted, too.  If it dies, its jobs fail, and the next job starts a new process.
 *
 * Requests for the same image wait for one job.  A job is cancelled when no request waits for it. */
#pragma once
#include "base/auto.h"
#include "core/core.h"
#include "core/image/used_image.h"
#include "core/image/wait.h"

int images_new(struct core *core, struct images **ret, struct cella_err *err);
struct images *images_free(struct images *images);

/* ---- jobs; each may end in the call itself by an error, and else in on_end ---- */

struct image_pull {
        const char *ref, *platform; /* platform may be NULL */
        bool insecure;              /* allowed only for what the settings list */
};
/* What the settings allow of registries; that the caller may change images is the caller's to see to. */
int image_pull(struct core *core, const struct caller *caller, const struct image_pull *pull,
               const struct image_events *events, void *context, struct image_wait **ret,
               struct cella_err *err);
/* The archive comes by image_feed(), and not too slowly (image_feed.h). */
int image_import(struct core *core, const struct caller *caller, const char *name,
                 const struct image_events *events, void *context, struct image_wait **ret,
                 struct cella_err *err);
int image_remove(struct core *core, const struct caller *caller, const char *name,
                 const struct image_events *events, void *context, struct image_wait **ret,
                 struct cella_err *err);
int image_collect(struct core *core, const struct caller *caller, const struct image_events *events,
                  void *context, struct image_wait **ret, struct cella_err *err);

/* The settings' images.max_bytes goes to the store, if it may be another than what is written there. */
void images_configure(struct core *core);

/* How much of it was taken; on_room comes if it was not all.  Then the end of it. */
size_t image_feed(struct image_wait *wait, const char *data, size_t len);
void image_feed_end(struct image_wait *wait);

/* ---- an image to be used ---- */

/* 1: it is there, *ret_id is its id.  0: it is being pulled, and on_end comes with its id in end->images;
 * *ret is for image_wait_cancel().  Less than 0: it is not there, and the settings or the caller's
 * capabilities have it so that it is not pulled. */
int image_want(struct core *core, const struct caller *caller, const char *name,
               const struct image_events *events, void *context, char ret_id[IMAGER_ID_SIZE],
               struct image_wait **ret, struct cella_err *err);

/* ---- for people ---- */

/* All that are in the store; good until the next call. */
int images_all(const struct core *core, const struct image_shelf **ret, struct cella_err *err);

void images_stat(const struct core *core, struct images_stat *ret);
