#include "core/image/policy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/json.h"
#include "core/settings/image_fields.h"
#include "secret/handle.h"

static const json_t *image_policy_images(const struct settings *settings, const char *name)
{
        return json_object_get(json_object_get(settings->document, "images"), name);
}

uint64_t image_policy_max_bytes(const struct settings *settings)
{
        const json_int_t n = json_integer_value(image_policy_images(settings, "max_bytes"));
        return n > 0 ? (uint64_t)n : 0;
}

bool image_policy_pulls(const struct settings *settings)
{
        const char *word = json_string_value(image_policy_images(settings, "pull"));
        return word && !strcmp(word, "missing");
}

static bool lists(const json_t *list, const char *registry)
{
        size_t i;
        const json_t *item;
        json_array_foreach ((json_t *)list, i, item) {
                const char *text = json_string_value(item);
                if (text && (!strcmp(text, registry) || !strcmp(text, IMAGES_ANY_REGISTRY)))
                        return true;
        }
        return false;
}

int image_policy_check(const struct settings *settings, const struct reference *ref, bool insecure,
                       bool *ret_insecure, struct cella_err *err)
{
        bool listed = lists(image_policy_images(settings, "insecure_registries"), ref->registry);
        if (!lists(image_policy_images(settings, "registries"), ref->registry)) {
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

/* Uses a fixed buffer, so that no copy of the secret remains in the heap. */
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

int image_policy_credentials(struct core *core, const struct reference *ref, char **ret,
                             struct cella_err *err)
{
        const json_t *handle =
                json_object_get(image_policy_images(&core->settings, "credentials"), ref->registry);
        AUTO(secret_free) struct secret *secret = NULL;
        char name[SECRET_NAME_SIZE];
        *ret = NULL;
        if (!json_is_string(handle))
                return 0;
        if (secret_handle_parse(json_string_value(handle), json_string_length(handle), name) < 0)
                return err_say(err, CELLA_INTERNAL, -EINVAL, "images.credentials names no secret");
        if (!core->secrets) {
                *err = core->no_secrets;
                return -ENOTSUP;
        }
        int r = secret_store_get(core->secrets, name, &secret, err);
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
