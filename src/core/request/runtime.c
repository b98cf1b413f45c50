/* core/request/runtime.c -- the settings for runtimes: `python` may stand for python3.12, and that for a
 * program or an image that has it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/image/images.h"
#include "core/image/policy.h"
#include "core/request/request.h"
#include "image/store/store.h"

/* Copies the text, because the settings may change while the request waits. */
static int request_runtime_keep(struct exec_request *r, const char *text, const char **ret,
                                struct cella_err *err)
{
        char *copy = strdup(text);
        if (exec_request_own(r, copy) < 0)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "request");
        *ret = copy;
        return 0;
}

static const json_t *entry_of(const struct core *core, const char *runtime)
{
        return json_object_get(json_object_get(core->settings.document, "runtimes"), runtime);
}

static const char *request_runtime_text_of(const json_t *object, const char *name)
{
        return json_string_value(json_object_get(object, name));
}

const char *runtime_standard(const struct core *core, const char *name)
{
        const char *standard =
                request_runtime_text_of(json_object_get(core->settings.document, "default_runtimes"), name);
        return standard ? standard : name;
}

int exec_request_runtime(const struct core *core, struct exec_request *r, bool own, struct cella_err *err)
{
        if (!r->runtime)
                return 0;
        const char *name = r->runtime, *standard = runtime_standard(core, name);
        int e = standard != name ? request_runtime_keep(r, standard, &r->runtime, err) : 0;
        const char *image = request_runtime_text_of(entry_of(core, r->runtime), "image");
        if (e < 0 || !own || !image || r->image)
                return e;
        if (standard != name)
                r->language = name;
        return request_runtime_keep(r, image, &r->image, err);
}

const char *runtime_program(const struct core *core, const char *runtime, const char *image)
{
        const json_t *entry = runtime ? entry_of(core, runtime) : NULL;
        const char *of = request_runtime_text_of(entry, "image"),
                   *program = request_runtime_text_of(entry, "program");
        return program && (!of || !strcmp(of, image)) ? program : NULL;
}

static int want_image(struct core *core, const struct caller *caller, const char *name,
                      const struct image_events *events, void *context, struct image_wait **ret,
                      struct cella_err *err)
{
        struct used_image *used;
        struct cella_err ignored;
        char id[IMAGER_ID_SIZE];
        if (used_image_find(core, name, &used, &ignored) == 0) { /* usually cached */
                used_image_unref(used);
                return 1;
        }
        int r = image_want(core, caller, name, events, context, id, ret, err);
        if (r < 0 && err->kind == CELLA_NOT_FOUND && !image_policy_pulls(&core->settings))
                err_hint(err,
                         "cella image pull %.80s; or set images.pull to \"missing\", and it is pulled when "
                         "it is "
                         "asked for",
                         name);
        return r;
}

int exec_request_image(struct core *core, const struct caller *caller, const struct exec_request *r,
                       const struct image_events *events, void *context, struct image_wait **ret,
                       struct cella_err *err)
{
        const char *name = r->image ? r->image : core->settings.image;
        if (r->direct || exec_request_engine(core, r) != ENGINE_NATIVE)
                return 1;
        return want_image(core, caller, name, events, context, ret, err);
}

int sandbox_request_image(struct core *core, const struct caller *caller, const json_t *document,
                          const struct image_events *events, void *context, struct image_wait **ret,
                          struct cella_err *err)
{
        const char *name = request_runtime_text_of(document, "image"),
                   *engine = request_runtime_text_of(document, "engine");
        if ((engine ? engine_from(engine) : (int)core->settings.engine) != ENGINE_NATIVE)
                return 1;
        return want_image(core, caller, name ? name : core->settings.image, events, context, ret, err);
}
