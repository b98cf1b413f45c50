/* core/image/used_image.h -- an image that sandboxes are made of: looked up once, shared by all who use it.
 *
 * A name may mean another image tomorrow.  Who has one of these keeps what it meant then; the root directory
 * of a sandbox that lives stays on disk as long as it does (keeper/spawn/image_root.h). */
#pragma once
#include "core/core.h"
#include "image/store/store.h"

struct used_image {
        struct list link; /* in the core */
        unsigned refs;
        char name[256];            /* as it was asked for */
        const struct image *image; /* NULL: what the engine docker calls so, and has not told of yet */
        bool remote, pulls;        /* it is the engine docker's, which may pull it */
};

/* What the name means now; *ret is NULL for "host".  To be given back.  CELLA_NOT_FOUND, with a hint, where
 * there is none. */
int used_image_find(struct core *core, const char *name, struct used_image **ret, struct cella_err *err);

/* One of the engine docker's, of which only it knows what it is; for one sandbox. */
int used_image_remote(const char *name, bool pulls, struct used_image **ret, struct cella_err *err);
/* It has told. */
struct docker_made;
int used_image_tell(struct used_image *used, const struct docker_made *made, struct cella_err *err);

struct used_image *used_image_ref(struct used_image *used); /* NULL is fine, for these three */
void used_image_unref(struct used_image *used);
bool used_image_same(const struct used_image *a, const struct used_image *b);

const char *used_image_name(const struct used_image *used); /* "host" */
static inline const struct image *used_image_get(const struct used_image *used)
{
        return used ? used->image : NULL;
}

/* When the store was changed last; whether that was long enough ago to be sure. */
int64_t used_images_stamp(const char *store, bool *ret_settled);

/* Forgets what was looked up; at the end. */
void used_images_done(struct core *core);

/* The list of all images.  It is read again when the store has changed. */
struct image_shelf {
        struct image **images; /* brief, see image_list_brief(); the newest first */
        size_t n;
        int64_t stamp; /* of the store, when the list was read */
        bool settled;  /* every later change of the store gives it another stamp */
};

/* Updates the list.  *images is valid until the next call. */
int image_shelf_read(struct image_shelf *shelf, const char *store, struct cella_err *err);
void image_shelf_done(struct image_shelf *shelf);
