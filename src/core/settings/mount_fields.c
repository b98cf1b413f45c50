#include "core/settings/mount_fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "jail/workspace.h"
#include "wire/mounts.h"

const char *const mount_words[] = {"ro", "rw", NULL};

static const char *text(const json_t *object, const char *name)
{
        const char *t = json_string_value(json_object_get(object, name));
        return t ? t : "";
}

static int check_name(const json_t *value, const char *path, struct cella_err *err)
{
        return keeper_name_is_valid(json_string_value(value))
                       ? 0
                       : err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                 "%s must consist of letters, digits, '.', '_' and '-', and not begin with "
                                 "'.'",
                                 path);
}

static bool is_plain(const char *path)
{
        for (const char *p = path; *p; p++) {
                size_t len = *p == '/' ? strcspn(p + 1, "/") : 1;
                if (*p == '/' &&
                    (len == 0 || (len == 1 && p[1] == '.') || (len == 2 && !strncmp(p + 1, "..", 2))))
                        return false;
        }
        return path[0] == '/';
}

static int check_path(const json_t *value, const char *path, struct cella_err *err)
{
        if (!is_plain(json_string_value(value)))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "%s must be an absolute path without '.', '..', '//' and '/' at its end",
                               path);
        if (!workspace_is_of_system(json_string_value(value)))
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s must not be a directory of the system", path);
        return err_hint(err, "choose a directory for data, such as /srv/datasets");
}

static int check_target(const json_t *value, const char *path, struct cella_err *err)
{
        const char *wrong = mounts_target_wrong(json_string_value(value));
        if (!wrong && mounts_is_in(json_string_value(value), "/workspace"))
                wrong = "must not be in /workspace";
        return wrong ? err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s %s", path, wrong) : 0;
}

#define NAME_FIELD(help_)                                                                                    \
        {                                                                                                    \
                .name = "name", .type = FIELD_STRING, .flags = FIELD_REQUIRED | FIELD_NO_NUL, .min = 1,      \
                .max = 63, .check = check_name, .help = (help_)                                              \
        }

static const struct field setting_fields[] = {NAME_FIELD("name by which requests ask for the directory"),
                                              {.name = "path",
                                               .type = FIELD_STRING,
                                               .flags = FIELD_REQUIRED | FIELD_NO_NUL,
                                               .min = 2,
                                               .max = 1000,
                                               .check = check_path,
                                               .help = "the directory of the host"},
                                              {.name = "mode",
                                               .type = FIELD_WORD,
                                               .words = mount_words,
                                               .standard = "\"ro\"",
                                               .help = "ro: code may read it; rw: code may also write to it"},
                                              {0}};

static const struct field request_fields[] = {NAME_FIELD("name of a directory in the setting mounts"),
                                              {.name = "target",
                                               .type = FIELD_STRING,
                                               .flags = FIELD_REQUIRED | FIELD_NO_NUL,
                                               .min = 2,
                                               .max = 255,
                                               .check = check_target,
                                               .help = "where the code sees it: an absolute path outside of "
                                                       "/workspace and the system's directories"},
                                              {.name = "mode",
                                               .type = FIELD_WORD,
                                               .words = mount_words,
                                               .help = "ro or rw; by default what the setting allows"},
                                              {0}};

const struct field mount_setting = {.name = "", .type = FIELD_OBJECT, .fields = setting_fields};
const struct field mount_request = {.name = "", .type = FIELD_OBJECT, .fields = request_fields};

static bool overlap(const char *a, const char *b)
{
        return mounts_is_in(a, b) || mounts_is_in(b, a);
}

static int check_pair(const json_t *a, const json_t *b, size_t i, size_t j, struct cella_err *err)
{
        if (!strcmp(text(a, "name"), text(b, "name")))
                return err_say(err, CELLA_INVALID_REQUEST, -EEXIST,
                               "mounts[%zu].name is the same as in mounts[%zu]", i, j);
        const bool written = !strcmp(text(a, "mode"), "rw") || !strcmp(text(b, "mode"), "rw");
        if (written && overlap(text(a, "path"), text(b, "path")))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "mounts[%zu].path and that of mounts[%zu] contain each other, and one is 'rw'",
                               i, j);
        return 0;
}

int mounts_check_settings(const json_t *document, struct cella_err *err)
{
        const json_t *list = json_object_get(document, "mounts"), *a;
        const char *root = text(document, "workspace_root");
        size_t i;
        int r = 0;
        json_array_foreach (list, i, a) {
                for (size_t j = 0; j < i && r == 0; j++)
                        r = check_pair(a, json_array_get(list, j), i, j, err);
                if (r == 0 && root[0] && overlap(text(a, "path"), root))
                        r = err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                    "mounts[%zu].path and workspace_root contain each other", i);
                if (r < 0)
                        return r;
        }
        return 0;
}

int mounts_check_request(const json_t *list, const char *path, struct cella_err *err)
{
        size_t i;
        const json_t *a;
        json_array_foreach (list, i, a)
                for (size_t j = 0; j < i; j++)
                        if (overlap(text(a, "target"), text(json_array_get(list, j), "target")))
                                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                               "%s[%zu].target and that of %s[%zu] contain each other", path,
                                               i, path, j);
        return 0;
}
