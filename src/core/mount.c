#include "core/mount.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "wire/mounts.h"

static const char *mount_text(const json_t *object, const char *name)
{
        return json_string_value(json_object_get(object, name));
}

static const json_t *mount_find(const struct settings *s, const char *name)
{
        size_t i;
        const json_t *m;
        json_array_foreach (json_object_get(s->document, "mounts"), i, m)
                if (!strcmp(mount_text(m, "name"), name))
                        return m;
        return NULL;
}

/* Finds the setting of this name, and checks that it allows the mode.  *mode NULL becomes that of the
 * setting. */
static int mount_look_up(const struct settings *s, const char *name, const char **mode, const char **ret_path,
                         struct cella_err *err)
{
        const json_t *setting = mount_find(s, name);
        if (!setting) {
                err_say(err, CELLA_NOT_FOUND, -ENOENT, "no such mount: %s", name);
                return err_hint(err,
                                "the setting mounts has the directories that may be used: cella settings "
                                "get mounts");
        }
        if (!*mode)
                *mode = mount_text(setting, "mode");
        *ret_path = mount_text(setting, "path");
        if (!strcmp(*mode, "ro") || !strcmp(mount_text(setting, "mode"), "rw"))
                return 0;
        err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: mount %s with mode 'rw'", name);
        return err_hint(err, "the setting mounts allows it with mode 'ro' only");
}

int mount_resolve(const struct settings *s, const json_t *asked, json_t **ret, struct cella_err *err)
{
        json_t *list = json_array_size(asked) > 0 ? json_array() : NULL;
        size_t i;
        const json_t *m;
        int r = 0;
        json_array_foreach (asked, i, m) {
                const char *mode = mount_text(m, "mode"), *path;
                r = mount_look_up(s, mount_text(m, "name"), &mode, &path, err);
                if (r == 0 && json_array_append_new(
                                      list, json_pack("{s:s, s:s, s:s}", "name", mount_text(m, "name"),
                                                      "target", mount_text(m, "target"), "mode", mode)) < 0)
                        r = err_set(err, CELLA_INTERNAL, -ENOMEM, "request");
                if (r < 0)
                        break;
        }
        if (r < 0)
                json_decref(list);
        else
                *ret = list;
        return r;
}

int mount_fill(const struct settings *s, const json_t *list, struct keeper_make_mounts *make,
               struct cella_err *err)
{
        size_t i, len = 0;
        const json_t *m;
        json_array_foreach (list, i, m) {
                const char *mode = mount_text(m, "mode"), *path = NULL, *name = mount_text(m, "name");
                int r = mount_look_up(s, name, &mode, &path, err);
                if (r < 0)
                        return r;
                const struct mounts_item item = {path, mount_text(m, "target"), !strcmp(mode, "rw")};
                if (i == KEEPER_MOUNTS_MAX || mounts_put(make->mounts, sizeof make->mounts, &len, &item) < 0)
                        return err_say(err, CELLA_TOO_LARGE, -E2BIG, "too many mounts");
        }
        make->make.mounts_len = (uint32_t)len;
        return 0;
}

static bool mount_is_same(const json_t *have, const json_t *asked)
{
        size_t i;
        const json_t *a;
        if (json_array_size(have) != json_array_size(asked))
                return false;
        json_array_foreach (asked, i, a) {
                const json_t *h = json_array_get(have, i);
                const char *mode = mount_text(a, "mode");
                if (strcmp(mount_text(a, "name"), mount_text(h, "name")) != 0 ||
                    strcmp(mount_text(a, "target"), mount_text(h, "target")) != 0 ||
                    (mode && strcmp(mode, mount_text(h, "mode")) != 0))
                        return false;
        }
        return true;
}

int mount_check_same(const json_t *have, const json_t *asked, struct cella_err *err)
{
        if (!asked || mount_is_same(have, asked))
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "mounts belongs to the sandbox, which has %s",
                json_array_size(have) > 0 ? "others" : "none");
        return err_hint(err, "leave mounts out, or make another sandbox");
}
