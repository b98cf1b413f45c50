#include "core/request/synonyms.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/parse.h"
#include "core/sandbox/operation.h"

#define MIB INT64_C(1048576)

/* "512m", "1G", "256MB": any case, with or without a B. */
static int synonym_size(const char *text, uint64_t *ret)
{
        char plain[40];
        size_t len = strlen(text);
        if (len > 1 && toupper((unsigned char)text[len - 1]) == 'B')
                len--;
        if (len >= sizeof plain)
                return -EINVAL;
        for (size_t i = 0; i < len; i++)
                plain[i] = (char)toupper((unsigned char)text[i]);
        plain[len] = '\0';
        return parse_bytes(plain, ret);
}

int synonym_check_directory(const json_t *value, const char *path, struct cella_err *err)
{
        return operation_check_path(json_string_value(value), path, err);
}

int synonym_check_size(const json_t *value, const char *path, struct cella_err *err)
{
        const uint64_t min = 4 * MIB, max = 1048576 * (uint64_t)MIB;
        uint64_t bytes = 0;
        return synonym_size(json_string_value(value), &bytes) == 0 && bytes >= min && bytes <= max
                       ? 0
                       : err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                 "%s must be a size from '4m' to '1024g', as '512m'", path);
}

/* ---- values ---- */

static json_t *synonym_same(const json_t *value)
{
        return json_deep_copy(value);
}

static json_t *synonym_ms(const json_t *value)
{
        return json_integer((json_int_t)(json_number_value(value) * 1000 + 0.5));
}

static json_t *synonym_mib(const json_t *value)
{
        return json_integer(json_integer_value(value) * MIB);
}

static json_t *synonym_bytes(const json_t *value)
{
        uint64_t bytes = 0;
        synonym_size(json_string_value(value), &bytes);
        return json_integer((json_int_t)bytes);
}

/* A tool has whole MiB: a smaller limit than requested would be a surprise, a slightly larger one is not. */
static json_t *synonym_bytes_in_mib(const json_t *value)
{
        uint64_t bytes = 0;
        synonym_size(json_string_value(value), &bytes);
        return json_integer((json_int_t)((bytes + MIB - 1) / MIB));
}

/* Languages whose interpreter has another name. */
static json_t *synonym_language(const json_t *value)
{
        static const char *const names[][2] = {
                {"javascript", "node"}, {"js", "node"}, {"nodejs", "node"}, {"shell", "sh"}};
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
                if (!strcmp(json_string_value(value), names[i][0]))
                        return json_string(names[i][1]);
        return json_deep_copy(value);
}

/* The tool sandbox.exec has fixed names. */
static json_t *synonym_language_of_tool(const json_t *value)
{
        return !strcmp(json_string_value(value), "python") ? json_string("python3") : synonym_language(value);
}

/* ---- replacing ---- */

struct synonym {
        const char *name;
        const char *object, *field; /* what it means; object NULL: a field of the document */
        json_t *(*value)(const json_t *value);
        const char *argument; /* of a tool */
        json_t *(*argument_value)(const json_t *value);
};

static const struct synonym synonyms[] = {
        {"language", NULL, "runtime", synonym_language, "runtime", synonym_language_of_tool},
        {"work_dir", NULL, "cwd", synonym_same, "cwd", synonym_same},
        {"timeout_seconds", "limits", "timeout_ms", synonym_ms, "timeout_ms", synonym_ms},
        {"max_memory_mb", "limits", "memory_bytes", synonym_mib, "memory_mb", synonym_same},
        {"memory_limit", "limits", "memory_bytes", synonym_bytes, "memory_mb", synonym_bytes_in_mib},
        {"cpu_limit", "limits", "cpus", synonym_same, "cpus", synonym_same},
        {"network_enabled", "network", "enabled", synonym_same, "network", NULL},
};

static int synonym_put(json_t *object, const char *field, json_t *value, const char *name,
                       struct cella_err *err)
{
        if (json_object_get(object, field)) {
                json_decref(value);
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "%s cannot be combined with %s, which means the same", name, field);
        }
        return json_object_set_new(object, field, value) < 0
                       ? err_set(err, CELLA_INTERNAL, -ENOMEM, "request")
                       : 0;
}

/* Returns a nested object of the document, which is made if it is absent.  Borrowed. */
static json_t *synonym_object(json_t *document, const char *name)
{
        json_t *object = json_object_get(document, name);
        if (!object && json_object_set_new(document, name, json_object()) == 0)
                object = json_object_get(document, name);
        return object;
}

int synonyms_apply(json_t *document, struct cella_err *err)
{
        for (size_t i = 0; i < ARRAY_LEN(synonyms); i++) {
                const struct synonym *s = &synonyms[i];
                const json_t *given = json_object_get(document, s->name);
                if (!given)
                        continue;
                if (!strcmp(s->field, "timeout_ms") && json_object_get(document, "timeout_ms"))
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "%s cannot be combined with timeout_ms, which means the same",
                                       s->name);
                json_t *object = s->object ? synonym_object(document, s->object) : document;
                int r = object ? synonym_put(object, s->field, s->value(given), s->name, err)
                               : err_set(err, CELLA_INTERNAL, -ENOMEM, "request");
                if (r < 0)
                        return r;
                json_object_del(document, s->name);
        }
        return 0;
}

static bool tool_has(const struct field *fields, const char *name)
{
        for (; fields->name; fields++)
                if (!strcmp(fields->name, name))
                        return true;
        return false;
}

int synonyms_apply_tool(const struct field *fields, json_t *arguments, struct cella_err *err)
{
        static const struct field rows[] = {SYNONYM_RUN_FIELDS, SYNONYM_LIMIT_FIELDS, {0}};
        for (size_t i = 0; i < ARRAY_LEN(synonyms); i++) {
                const struct synonym *s = &synonyms[i];
                json_t *given = json_object_get(arguments, s->name);
                if (!given || tool_has(fields, s->name) || !tool_has(fields, s->argument))
                        continue;
                json_t *alone = json_pack("{s:O}", s->name, given);
                int r = alone ? schema_check(rows, alone, "", err)
                              : err_set(err, CELLA_INTERNAL, -ENOMEM, "arguments");
                json_decref(alone);
                if (r < 0)
                        return r;
                json_t *value =
                        s->argument_value ? s->argument_value(given) : json_pack("{s:O}", "enabled", given);
                if ((r = synonym_put(arguments, s->argument, value, s->name, err)) < 0)
                        return r;
                json_object_del(arguments, s->name);
        }
        return 0;
}
