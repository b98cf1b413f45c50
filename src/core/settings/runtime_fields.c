#include "core/settings/runtime_fields.h"

#include <errno.h>

#include "base/err.h"
#include "base/runtime.h"
#include "core/settings/image_fields.h"

static int check_program(const json_t *value, const char *path, struct cella_err *err)
{
        return json_string_value(value)[0] == '/'
                       ? 0
                       : err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s must be an absolute path", path);
}

static int check_known(const char *name, const char *path, struct cella_err *err)
{
        struct runtime runtime;
        if (runtime_find(name, &runtime) == 0)
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s: '%.40s' is not a known runtime", path, name);
        return err_hint(err, "a language, or a version of one: python3.12, node22; cella runtime ls");
}

int runtimes_check(const json_t *value, const char *path, struct cella_err *err)
{
        const char *name;
        json_t *entry;
        int r = 0;
        json_object_foreach ((json_t *)value, name, entry) {
                if ((r = check_known(name, path, err)) < 0)
                        break;
                if (json_object_size(entry) == 0)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "%s.%.40s must name an image, a program, or both", path, name);
        }
        return r;
}

int default_runtimes_check(const json_t *value, const char *path, struct cella_err *err)
{
        const char *name;
        json_t *runtime;
        int r = 0;
        json_object_foreach ((json_t *)value, name, runtime)
                if ((r = check_known(json_string_value(runtime), path, err)) < 0)
                        break;
        return r;
}

const struct field *runtime_settings_fields(void)
{
        static const struct field fields[] = {
                {.name = "image",
                 .type = FIELD_STRING,
                 .flags = FIELD_NO_NUL,
                 .min = 1,
                 .max = 256,
                 .check = image_name_check,
                 .help = "image of this runtime, unless the request names another"},
                {.name = "program",
                 .type = FIELD_STRING,
                 .flags = FIELD_NO_NUL,
                 .min = 1,
                 .max = 255,
                 .check = check_program,
                 .help = "path of the program, if it is not in PATH"},
                {0}};
        return fields;
}
