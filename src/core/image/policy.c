#include "core/image/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/json.h"
#include "secret/handle.h"

#define REGISTRIES_MAX 64
#define ANY "*"
#define MAX_BYTES_MAX ((int64_t)1 << 50)

static const char *const pull_words[] = {"never", "missing", NULL};

/* As reference_parse() would find it in front of a name. */
static int check_host(const char *text, const char *path, struct cella_err *err)
{
        struct reference ref;
        char whole[REFERENCE_REGISTRY_SIZE + 8];
        int n = snprintf(whole, sizeof whole, "%s/x:y", text);
        if (n > 0 && (size_t)n < sizeof whole && reference_parse(whole, &ref, NULL) == 0 &&
            !strcmp(ref.registry, text) &&
            !strcmp(ref.repository, !strcmp(text, "docker.io") ? "library/x" : "x"))
                return 0;
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s cannot be '%.100s'", path, text);
        return err_hint(err, "a registry is HOST or HOST:PORT in lower case, like ghcr.io or localhost:5000");
}

static int check_registries(const json_t *value, const char *path, struct cella_err *err)
{
        size_t i;
        const json_t *item;
        json_array_foreach ((json_t *)value, i, item) {
                const char *text = json_string_value(item);
                if (text && strcmp(text, ANY) != 0 && check_host(text, path, err) < 0)
                        return -EINVAL;
        }
        return 0;
}

/* "*" would make every pull one that anybody on the way can change. */
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
                 .help = "missing: an image that is asked for and not there is pulled, for callers with the "
                         "capability images; never: it is not found"},
                {.name = "registries",
                 .type = FIELD_ARRAY,
                 .item = &host,
                 .max = REGISTRIES_MAX,
                 .standard = "[\"docker.io\"]",
                 .check = check_registries,
                 .help = "the registries that the daemon may talk to; \"*\": any"},
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
                 .help = "registry to secret, whose value is USER:PASSWORD, or a token"},
                {.name = "max_bytes",
                 .type = FIELD_INTEGER,
                 .max = MAX_BYTES_MAX,
                 .standard = "0",
                 .help = "maximum disk space of all images, also for the command line; 0: no "
                         "limit"},
                {0}};
        return fields;
}

static const json_t *images(const struct settings *settings, const char *name)
{
        return json_object_get(json_object_get(settings->document, "images"), name);
}

uint64_t image_policy_max_bytes(const struct settings *settings)
{
        const json_int_t n = json_integer_value(images(settings, "max_bytes"));
        return n > 0 ? (uint64_t)n : 0;
}

bool image_policy_pulls(const struct settings *settings)
{
        const char *word = json_string_value(images(settings, "pull"));
        return word && !strcmp(word, "missing");
}

static bool lists(const json_t *list, const char *registry)
{
        size_t i;
        const json_t *item;
        json_array_foreach ((json_t *)list, i, item) {
                const char *text = json_string_value(item);
                if (text && (!strcmp(text, registry) || !strcmp(text, ANY)))
                        return true;
        }
        return false;
}

int image_policy_check(const struct settings *settings, const struct reference *ref, bool insecure,
                       bool *ret_insecure, struct cella_err *err)
{
        bool listed = lists(images(settings, "insecure_registries"), ref->registry);
        if (!lists(images(settings, "registries"), ref->registry)) {
                err_say(err, CELLA_ACCESS_DENIED, -EACCES,
                        "access denied: the registry %.120s is not in "
                        "the settings' images.registries",
                        ref->registry);
                return err_hint(err, "cella settings set images.registries '[\"docker.io\", \"%.80s\"]'",
                                ref->registry);
        }
        if (insecure && !listed) {
                err_say(err, CELLA_ACCESS_DENIED, -EACCES,
                        "access denied: the registry %.120s is not in "
                        "the settings' images.insecure_registries",
                        ref->registry);
                return err_hint(err, "without \"insecure\" it is spoken to by TLS");
        }
        *ret_insecure = listed;
        return 0;
}

/* Fixed memory, so that no copy of it stays behind in a heap. */
static int write_credentials(const struct secret *secret, char *ret, size_t size)
{
        const char *colon = strchr(secret->value, ':');
        FILE *out = fmemopen(ret, size, "w");
        if (!out)
                return -ENOMEM;
        setvbuf(out, NULL, _IONBF, 0);
        struct json j = {.out = out};
        json_put_open(&j, NULL, '{');
        if (colon) {
                json_put_bytes(&j, "username", secret->value, (size_t)(colon - secret->value));
                json_put_string(&j, "password", colon + 1);
        } else {
                json_put_string(&j, "identitytoken", secret->value);
        }
        json_put_close(&j, '}');
        fputc('\0', out);
        bool bad = ferror(out);
        return fclose(out) != 0 || bad ? -E2BIG : 0;
}

#define CREDENTIALS_MAX 24576

int image_policy_credentials(struct box *box, const struct reference *ref, char **ret, struct cella_err *err)
{
        const json_t *handle = json_object_get(images(&box->settings, "credentials"), ref->registry);
        AUTO(secret_free) struct secret *secret = NULL;
        char name[SECRET_NAME_SIZE];
        *ret = NULL;
        if (!json_is_string(handle))
                return 0;
        if (secret_handle_parse(json_string_value(handle), json_string_length(handle), name) < 0)
                return err_say(err, CELLA_INTERNAL, -EINVAL, "images.credentials names no secret");
        if (!box->secrets) {
                *err = box->no_secrets;
                return -ENOTSUP;
        }
        int r = secret_store_get(box->secrets, name, &secret, err);
        if (r < 0)
                return r;
        char *text = calloc(1, CREDENTIALS_MAX);
        r = text ? write_credentials(secret, text, CREDENTIALS_MAX) : -ENOMEM;
        if (r < 0) {
                image_policy_forget(text);
                return err_say(err, CELLA_INVALID_REQUEST, r,
                               "the secret '%.64s' cannot be credentials for "
                               "a registry: too long",
                               name);
        }
        *ret = text;
        return 0;
}

void image_policy_forget(char *credentials)
{
        if (credentials)
                explicit_bzero(credentials, CREDENTIALS_MAX);
        free(credentials);
}
