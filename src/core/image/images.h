/* core/image/images.h -- the daemon's images: requests that wait for one, and the jobs of cella-image.
 *
 * Images are read from the store (image/store/store.h).  Only cella-image changes the store.  The keeper
 * starts it for the first job, and it is ended some time after the last one.  It unpacks untrusted archives,
 * so its answers are not trusted either.  If it dies, its jobs fail, and the next job starts a new process.
 *
 * Requests for the same image wait for one job.  A job is cancelled when no request waits for it. */
#pragma once
#include "base/auto.h"
#include "core/core.h"
#include "core/image/used_image.h"
#include "core/image/wait.h"

int images_new(struct core *core, struct images **ret, struct cella_err *err);
struct images *images_free(struct images *images);

/* ---- jobs; each fails in the call, or ends with on_end ---- */

struct image_pull {
        const char *ref, *platform; /* platform may be NULL */
        bool insecure;              /* allowed only for registries in the settings */
};
/* Pulls an image.  Checks the registry against the settings; the caller must check the capability. */
int image_pull(struct core *core, const struct caller *caller, const struct image_pull *pull,
               const struct image_events *events, void *context, struct image_wait **ret,
               struct cella_err *err);
/* Imports an archive, which is passed by image_feed() and must not arrive too slowly (feed.h). */
int image_import(struct core *core, const struct caller *caller, const char *name,
                 const struct image_events *events, void *context, struct image_wait **ret,
                 struct cella_err *err);
int image_remove(struct core *core, const struct caller *caller, const char *name,
                 const struct image_events *events, void *context, struct image_wait **ret,
                 struct cella_err *err);
int image_collect(struct core *core, const struct caller *caller, const struct image_events *events,
                  void *context, struct image_wait **ret, struct cella_err *err);

/* Writes images.max_bytes of the settings to the store if it differs. */
void images_configure(struct core *core);

/* Passes a part of the archive.  Returns the number of bytes taken; if not all, on_room follows.
 * image_feed_end() marks the end. */
size_t image_feed(struct image_wait *wait, const char *data, size_t len);
void image_feed_end(struct image_wait *wait);

/* ---- use of an image ---- */

/* Looks for an image that a request needs.  Returns 1 with its id in *ret_id if it exists.  Returns 0 if it
 * is being pulled: on_end follows with the id in end->images, and *ret is for image_wait_cancel().  Returns
 * -errno if it does not exist and may not be pulled. */
int image_want(struct core *core, const struct caller *caller, const char *name,
               const struct image_events *events, void *context, char ret_id[IMAGER_ID_SIZE],
               struct image_wait **ret, struct cella_err *err);

/* ---- queries ---- */

/* Returns all images of the store; valid until the next call. */
int images_all(const struct core *core, const struct image_shelf **ret, struct cella_err *err);

void images_stat(const struct core *core, struct images_stat *ret);
