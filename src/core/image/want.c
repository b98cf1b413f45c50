/* core/image/want.c -- an image that is going to be used: there, or pulled if that may be. */
#include <string.h>

#include "base/err.h"
#include "core/image/images.h"
#include "core/image/policy.h"
#include "image/store/store.h"

int image_want(struct core *core, const struct caller *caller, const char *name,
               const struct image_events *events, void *context, char ret_id[IMAGER_ID_SIZE],
               struct image_wait **ret, struct cella_err *err)
{
        AUTO(image_free) struct image *image = NULL;
        const struct image_pull pull = {.ref = name};
        int r = image_find(core->store, name, &image, err);
        if (r == 0) {
                memcpy(ret_id, image->id, sizeof image->id);
                return 1;
        }
        if (err->kind != CELLA_NOT_FOUND || !image_policy_pulls(&core->settings))
                return r;
        if (caller_may(caller, MAY_IMAGES, NULL) < 0)
                return err_hint(err, "this key may not pull it: it lacks the capability images");
        return image_pull(core, caller, &pull, events, context, ret, err);
}
