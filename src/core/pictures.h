/* core/pictures.h -- reads the PNG, JPEG and SVG files that code has written, so that they are results of its
 * run.
 *
 * The files are read inside the sandbox, one after the other.  Their names, sizes and contents are not
 * trusted: a file is a picture if it begins like one, and there are limits on number and size. */
#pragma once
#include "cella.h"
#include "core/sandbox/sandbox.h"
#include "secret/mask.h"

#define PICTURES_MAX 8
#define PICTURE_BYTES_MAX (2u * 1024 * 1024)
#define PICTURES_BYTES_MAX (8u * 1024 * 1024) /* of all pictures of a run */

/* `value` of the first picture: higher than those of the driver of a context. */
#define PICTURES_VALUE 1000

struct pictures;

struct pictures_events {
        /* A result as JSON, {"mime", "data", "main", "value", "path"}; takes it. */
        void (*on_picture)(void *context, char *json, size_t len);
        /* The last callback.  left_out: a picture was too large or could not be read, or there were more. */
        void (*on_end)(void *context, bool left_out);
};

/* Starts reading.  Returns NULL if none of the files has the name of a picture, or there is no memory: no
 * callback follows.  Otherwise on_end follows, not from within, unless pictures_free() is called.  The files
 * and the mask (NULL: none) must exist until then. */
struct pictures *pictures_new(struct core_sandbox *sandbox, const struct cella_file *files, size_t n,
                              struct mask *mask, const struct pictures_events *events, void *context);
/* Ends reading.  Must also be called in or after on_end, but not in on_picture. */
struct pictures *pictures_free(struct pictures *pictures);
