#include "core/image/shelf.h"

#include "core/image/used_image.h"

void image_shelf_done(struct image_shelf *shelf)
{
        image_list_free(shelf->images, shelf->n);
        *shelf = (struct image_shelf){0};
}

int image_shelf_read(struct image_shelf *shelf, const char *store, struct cella_err *err)
{
        struct image_shelf now = {0};
        now.stamp = used_images_stamp(store, &now.settled); /* before it is read: what comes then shows */
        if (shelf->images && shelf->settled && shelf->stamp == now.stamp)
                return 0;
        int r = image_list_brief(store, &now.images, &now.n, err);
        if (r < 0)
                return r;
        image_shelf_done(shelf);
        *shelf = now;
        return 0;
}
