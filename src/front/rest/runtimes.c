/* front/rest/runtimes.c -- lists the runtimes of this machine, of each image, and of the settings. */
#include <string.h>

#include "base/err.h"
#include "core/image/images.h"
#include "engine/runtime_look.h"
#include "front/rest/rest.h"
#include "image/store/store.h"

static void rest_runtimes_add(json_t *list, const char *name, const char *image, const char *program)
{
        json_array_append_new(
                list, json_pack("{s:s, s:s, s:s?}", "name", name, "image", image, "program", program));
}

static void add_host(json_t *list)
{
        struct runtime_found found[RUNTIMES_FOUND_MAX];
        size_t n = runtime_look(found);
        for (size_t i = 0; i < n; i++)
                rest_runtimes_add(list, found[i].name, IMAGE_HOST, found[i].program);
}

static void add_image(json_t *list, const struct image *image, const char *name)
{
        for (size_t i = 0; i < image->n_runtimes; i++)
                rest_runtimes_add(list, image->runtimes[i].name, name, image->runtimes[i].value);
}

static int add_images(json_t *list, const struct core *core, struct cella_err *err)
{
        const struct image_shelf *shelf;
        int r = images_all(core, &shelf, err);
        for (size_t i = 0; r == 0 && i < shelf->n; i++) {
                const struct image *image = shelf->images[i];
                add_image(list, image, image->names[0] ? image_name_short(image->names[0]) : image->id);
        }
        return r;
}

static int rest_runtimes_fill(json_t *list, const struct core *core, const char *name, struct cella_err *err)
{
        AUTO(image_free) struct image *image = NULL;
        if (!name || !strcmp(name, IMAGE_HOST))
                add_host(list);
        if (!name)
                return add_images(list, core, err);
        if (!strcmp(name, IMAGE_HOST))
                return 0;
        int r = image_find(core->store, name, &image, err);
        if (r == 0)
                add_image(list, image, name);
        return r;
}

void rest_runtimes(struct call *call, json_t *body)
{
        json_t *list = json_array(), *settings = call->core->settings.document;
        struct cella_err err = {0};
        (void)body;
        if (rest_runtimes_fill(list, call->core, http_query(call->request, "image"), &err) < 0) {
                json_decref(list);
                api_reply_err(call, &err);
                return;
        }
        /* An entry of the settings has precedence over a runtime that was found. */
        api_reply(call, 200,
                  json_pack("{s:o, s:O, s:O}", "runtimes", list, "default_runtimes",
                            json_object_get(settings, "default_runtimes"), "settings",
                            json_object_get(settings, "runtimes")));
}
