/* engine/runtime_hint.c -- suggests how to get a missing runtime. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "engine/runtime.h"
#include "image/store/store.h"

/* Finds the newest image of the store that has the runtime.  Returns false if there is none. */
static bool find_image(const char *store, const char *name, char *ret, size_t size)
{
        struct image **images = NULL;
        struct cella_err ignored;
        size_t n = 0;
        bool found = false;
        if (image_list(store, &images, &n, &ignored) < 0)
                return false;
        for (size_t i = 0; i < n && !found; i++)
                if (images[i]->names[0] && image_runtime(images[i], name)) {
                        snprintf(ret, size, "%.100s", image_name_short(images[i]->names[0]));
                        found = true;
                }
        image_list_free(images, n);
        return found;
}

static void name_image(const struct runtime *runtime, char *ret, size_t size)
{
        bool versions = runtime->version && !(runtime->compile && runtime->compile->standard);
        const char *place = strstr(runtime->image, "%s");
        snprintf(ret, size, "%.*s%.20s%s", (int)(place - runtime->image), runtime->image,
                 versions ? runtime->version : runtime->usual, place + 2);
}

void runtime_hint(const char *store, const char *name, bool host, struct cella_err *err)
{
        struct runtime runtime;
        char image[128];
        if (runtime_find(name, &runtime) < 0)
                return;
        if (store && find_image(store, name, image, sizeof image)) {
                err_hint(err, "use image \"%s\", or set runtimes.%.20s.image to it", image, name);
                return;
        }
        if (!runtime.image) {
                err_hint(err,
                         host ? "apt-get install %s, or use an image that has it"
                              : "use an image that has %s",
                         runtime.package);
                return;
        }
        name_image(&runtime, image, sizeof image);
        if (!host)
                err_hint(err, "cella image pull %s, and use that image", image);
        else if (runtime.version)
                err_hint(err, "cella image pull %s, and use that image; or apt-get install %s", image,
                         runtime.package);
        else
                err_hint(err, "apt-get install %s; or cella image pull %s, and use that image",
                         runtime.package, image);
}
