/* core/image/used_image.c -- see used_image.h.
 *
 * Finding an image takes four system calls and parsing a document.  The result is cached until the
 * modification times of the directories with names and documents change.  These times have coarse steps: a
 * directory that was changed just now may change again with the same time.  A result from such a moment is
 * not cached. */
#include "core/image/used_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "wire/docker.h"

#define KEPT_MAX 64
#define SETTLED_NS INT64_C(1000000000)

static int64_t changed_ns(const char *store, const char *directory)
{
        char path[KEEPER_PATH_MAX + 32];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", store, directory);
        if (stat(path, &st) < 0)
                return 0;
        return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

int64_t used_images_stamp(const char *store, bool *ret_settled)
{
        struct timespec now;
        const int64_t refs = changed_ns(store, "refs"), meta = changed_ns(store, "meta");
        clock_gettime(CLOCK_REALTIME, &now);
        const int64_t last = refs > meta ? refs : meta;
        *ret_settled = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - last > SETTLED_NS;
        return refs ^ (meta << 1);
}

struct used_image *used_image_ref(struct used_image *used)
{
        if (used)
                used->refs++;
        return used;
}

void used_image_unref(struct used_image *used)
{
        if (!used || --used->refs > 0)
                return;
        image_free((struct image *)used->image);
        free(used);
}

void used_images_done(struct core *core)
{
        list_each (at, &core->used_images, other) {
                list_remove(at);
                used_image_unref(list_entry(at, struct used_image, link));
        }
        core->n_used_images = 0;
}

static struct used_image *find_kept(struct core *core, const char *name)
{
        list_each (at, &core->used_images, other) {
                struct used_image *used = list_entry(at, struct used_image, link);
                if (!strcmp(used->name, name))
                        return used_image_ref(used);
        }
        return NULL;
}

static void used_image_keep(struct core *core, struct used_image *used)
{
        if (core->n_used_images >= KEPT_MAX)
                used_images_done(core);
        list_add(&core->used_images, &used_image_ref(used)->link);
        core->n_used_images++;
}

int used_image_find(struct core *core, const char *name, struct used_image **ret, struct cella_err *err)
{
        const char *store = core->store;
        struct image *image = NULL;
        bool settled;
        *ret = NULL;
        if (!strcmp(name, IMAGE_HOST))
                return 0;
        const int64_t now = used_images_stamp(store, &settled);
        if (!settled || now != core->images_stamp)
                used_images_done(core);
        core->images_stamp = now;
        if ((*ret = find_kept(core, name)))
                return 0;
        struct used_image *used = calloc(1, sizeof *used);
        int r = !used ? err_set(err, CELLA_INTERNAL, -ENOMEM, "image") : image_find(store, name, &image, err);
        if (r < 0) {
                free(used);
                return r;
        }
        used->refs = 1;
        used->image = image;
        snprintf(used->name, sizeof used->name, "%s", name);
        list_init(&used->link);
        if (settled)
                used_image_keep(core, used);
        *ret = used;
        return 0;
}

int used_image_remote(const char *name, bool pulls, struct used_image **ret, struct cella_err *err)
{
        if (!strcmp(name, IMAGE_HOST)) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "image 'host' is for the engine native only");
                return err_hint(err, "with the engine docker, name one of its images: python:3.12-slim");
        }
        struct used_image *used = calloc(1, sizeof *used);
        if (!used)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "image");
        used->refs = 1;
        used->remote = true;
        used->pulls = pulls;
        snprintf(used->name, sizeof used->name, "%s", name);
        list_init(&used->link);
        *ret = used;
        return 0;
}

int used_image_report(struct used_image *used, const struct docker_made *made, struct cella_err *err)
{
        struct image *image = NULL;
        char id[IMAGE_ID_LEN + 1];
        memcpy(id, made->image, IMAGE_ID_LEN);
        id[IMAGE_ID_LEN] = '\0';
        int r = image_parse((const char *)(made + 1), made->len, id, NULL, &image, err);
        if (r < 0)
                return r;
        image_free((struct image *)used->image);
        used->image = image;
        return 0;
}

bool used_image_same(const struct used_image *a, const struct used_image *b)
{
        return a == b || (a && b && !a->remote && !b->remote && !strcmp(a->image->id, b->image->id));
}

const char *used_image_name(const struct used_image *used)
{
        return used ? used->name : IMAGE_HOST;
}

void image_shelf_done(struct image_shelf *shelf)
{
        image_list_free(shelf->images, shelf->n);
        *shelf = (struct image_shelf){0};
}

int image_shelf_read(struct image_shelf *shelf, const char *store, struct cella_err *err)
{
        struct image_shelf now = {0};
        now.stamp = used_images_stamp(store, &now.settled); /* first: a later change is noticed */
        if (shelf->images && shelf->settled && shelf->stamp == now.stamp)
                return 0;
        int r = image_list_brief(store, &now.images, &now.n, err);
        if (r < 0)
                return r;
        image_shelf_done(shelf);
        *shelf = now;
        return 0;
}
