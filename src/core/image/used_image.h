/* core/image/used_image.h -- an image in use: found once, shared by all users.
 *
 * A name may refer to another image later.  An object keeps the image that it was made for; the root
 * directory of a live sandbox stays on disk (keeper/spawn/image_root.h). */
#pragma once
#include "core/core.h"
#include "image/store/store.h"

struct used_image {
        struct list link; /* in the core's cache */
        unsigned refs;
        char name[256];            /* as requested */
        const struct image *image; /* NULL: an image of the engine docker that is not known yet */
        bool remote, pulls;        /* remote: an image of the engine docker; pulls: the engine may pull it */
};

/* Finds the image of this name; *ret is NULL for "host".  The caller must call used_image_unref().
 * CELLA_NOT_FOUND, with a hint: no such image. */
int used_image_find(struct core *core, const char *name, struct used_image **ret, struct cella_err *err);

/* Makes an object for an image of the engine docker, for one sandbox.  The engine reports its contents
 * later. */
int used_image_remote(const char *name, bool pulls, struct used_image **ret, struct cella_err *err);
/* Stores what the engine reported. */
struct docker_made;
int used_image_report(struct used_image *used, const struct docker_made *made, struct cella_err *err);

struct used_image *used_image_ref(struct used_image *used); /* these three accept NULL */
void used_image_unref(struct used_image *used);
bool used_image_same(const struct used_image *a, const struct used_image *b);

const char *used_image_name(const struct used_image *used); /* "host" for NULL */
static inline const struct image *used_image_get(const struct used_image *used)
{
        return used ? used->image : NULL;
}

/* Returns a stamp of the last change of the store.  *ret_settled: that was long enough ago to detect later
 * changes. */
int64_t used_images_stamp(const char *store, bool *ret_settled);

/* Clears the cache. */
void used_images_done(struct core *core);

/* The list of all images.  It is read again when the store has changed. */
struct image_shelf {
        struct image **images; /* short form, see image_list_brief(); the newest first */
        size_t n;
        int64_t stamp; /* of the store, when the list was read */
        bool settled;  /* every later change of the store gives it another stamp */
};

/* Updates the list.  *images is valid until the next call. */
int image_shelf_read(struct image_shelf *shelf, const char *store, struct cella_err *err);
void image_shelf_done(struct image_shelf *shelf);
