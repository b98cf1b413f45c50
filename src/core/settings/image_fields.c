#include "core/settings/image_fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "image/store/reference.h"
#include "image/store/store.h"
#include "secret/handle.h"

#define REGISTRIES_MAX 64
#define MAX_BYTES_MAX ((int64_t)1 << 50)

static const char *const pull_words[] = {"never", "missing", NULL};

/* Checks that reference_parse() accepts it as a registry. */
static int check_host(const char *text, const char *path, struct cella_err *err)
{
        struct reference ref;
        char whole[REFERENCE_REGISTRY_SIZE + 8];
        int n = snprintf(whole, sizeof whole, "%s/x:y", text);
        if (n > 0 && (size_t)n < sizeof whole && reference_parse(whole, &ref, NULL) == 0 &&
            !strcmp(ref.registry, text) &&
            !strcmp(ref.repository, !strcmp(text, "docker.io") ? "library/x" : "x"))
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s: '%.100s' is not a registry", path, text);
        return err_hint(err, "a registry is HOST or HOST:PORT in lower case, like ghcr.io or localhost:5000");
}

static int check_registries(const json_t *value, const char *path, struct cella_err *err)
{
        size_t i;
        const json_t *item;
        json_array_foreach ((json_t *)value, i, item) {
                const char *text = json_string_value(item);
                if (text && strcmp(text, IMAGES_ANY_REGISTRY) != 0 && check_host(text, path, err) < 0)
                        return -EINVAL;
        }
        return 0;
}

/* "*" is not allowed: it would make every pull insecure. */
static int check_insecure(const json_t *value, const char *path, struct cella_err *err)
{
        size_t i;
        const json_t *item;
        json_array_foreach ((json_t *)value, i, item)
                if (json_is_string(item) && check_host(json_string_value(item), path, err) < 0)
                        return -EINVAL;
        return 0;
}

static int check_credentials(const json_t *value, const char *path, struct cella_err *err)
{
        const char *host;
        json_t *handle;
        char name[SECRET_NAME_SIZE];
        json_object_foreach ((json_t *)value, host, handle) {
                if (check_host(host, path, err) < 0)
                        return -EINVAL;
                if (!json_is_string(handle) ||
                    secret_handle_parse(json_string_value(handle), json_string_length(handle), name) < 0)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "%s.%.100s must name a secret, like \"{{secret:name}}\"", path, host);
        }
        return 0;
}

int image_name_check(const json_t *value, const char *path, struct cella_err *err)
{
        char file[256];
        const char *name = json_string_value(value);
        if (!strcmp(name, IMAGE_HOST) || image_name_file(name, file) >= 0)
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s: '%.60s' cannot be the name of an image", path,
                name);
        return err_hint(err, "python:3.12-slim, registry.example.com/team/tools:2, an id; or host");
}

const struct field *images_settings_fields(void)
{
        static const struct field host = {.name = "",
                                          .type = FIELD_STRING,
                                          .flags = FIELD_NO_NUL,
                                          .min = 1,
                                          .max = REFERENCE_REGISTRY_SIZE - 1};
        static const struct field handle = {
                .name = "", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .min = 1, .max = 128};
        static const struct field fields[] = {
                {.name = "pull",
                 .type = FIELD_WORD,
                 .words = pull_words,
                 .standard = "\"missing\"",
                 .help = "missing: a requested image that is not in the store is pulled, if the caller has "
                         "the capability images; never: the request gets 404"},
                {.name = "registries",
                 .type = FIELD_ARRAY,
                 .item = &host,
                 .max = REGISTRIES_MAX,
                 .standard = "[\"docker.io\"]",
                 .check = check_registries,
                 .help = "registries that the daemon may use; \"*\": any"},
                {.name = "insecure_registries",
                 .type = FIELD_ARRAY,
                 .item = &host,
                 .max = REGISTRIES_MAX,
                 .standard = "[]",
                 .check = check_insecure,
                 .help = "registries that may be used without TLS"},
                {.name = "credentials",
                 .type = FIELD_MAP,
                 .item = &handle,
                 .max = REGISTRIES_MAX,
                 .standard = "{}",
                 .check = check_credentials,
                 .help = "for each registry, the secret with its credentials: USER:PASSWORD, or a token"},
                {.name = "max_bytes",
                 .type = FIELD_INTEGER,
                 .max = MAX_BYTES_MAX,
                 .standard = "0",
                 .help = "maximum disk space of all images, also for the command line; 0: no "
                         "limit"},
                {0}};
        return fields;
}
