#include "secret/grant.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "secret/handle.h"

/* Adds one variable; *ret_value points into it. */
static int add_variable(struct secret_grant *g, const char *variable, const struct secret *secret,
                        struct mask_value *ret_value)
{
        char *text = sodium_malloc(strlen(variable) + 1 + secret->len + 1);
        if (!text)
                return -ENOMEM;
        char *value = stpcpy(stpcpy(text, variable), "=");
        memcpy(value, secret->value, secret->len + 1);
        *ret_value = (struct mask_value){.text = value, .len = secret->len};
        g->env[g->n++] = text;
        return 0;
}

/* Checks the permission first, so that a caller cannot find out which other secrets exist. */
static int open_secret(struct secret_store *store, const char *variable, const json_t *handle,
                       const json_t *allowed, const char *path, struct secret **ret, struct cella_err *err)
{
        char name[SECRET_NAME_SIZE];
        if (secret_handle_parse(json_string_value(handle), json_string_length(handle), name) < 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "%s.%.80s must be {{secret:name}} or the name of a secret", path, variable);
        if (allowed && !secret_list_has(allowed, name)) {
                err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: secret '%s' (%s.%.80s)", name,
                        path, variable);
                err_hint(err, "the key's 'secrets' does not list it");
                return -EACCES;
        }
        int r = secret_store_get(store, name, ret, err);
        if (r == -ENOENT) {
                err_say(err, CELLA_NOT_FOUND, r, "%s.%.80s: no secret '%s'", path, variable, name);
                err_hint(err, "create it with 'cella secret set %s'", name);
        }
        return r;
}

int secret_grant_new(struct secret_store *store, const json_t *handles, const json_t *allowed,
                     const char *path, struct secret_grant **ret, struct cella_err *err)
{
        AUTO(secret_grant_free) struct secret_grant *g = NULL;
        struct mask_value values[SECRET_HANDLES_MAX];
        const char *variable;
        json_t *handle;
        int r;
        if (json_object_size(handles) == 0) {
                *ret = NULL;
                return 0;
        }
        if (json_object_size(handles) > SECRET_HANDLES_MAX)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "%s: too many secrets", path);
        g = calloc(1, sizeof *g);
        if (g)
                g->env = calloc(json_object_size(handles) + 1, sizeof *g->env);
        if (!g || !g->env)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "secrets");
        json_object_foreach ((json_t *)handles, variable, handle) {
                AUTO(secret_free) struct secret *secret = NULL;
                r = open_secret(store, variable, handle, allowed, path, &secret, err);
                if (!secret)
                        return r;
                if (add_variable(g, variable, secret, &values[g->n]) < 0)
                        return err_set(err, CELLA_INTERNAL, -ENOMEM, "secrets");
        }
        r = mask_new(values, g->n, &g->mask, err);
        if (r < 0)
                return r;
        *ret = TAKE(g);
        return 0;
}

struct secret_grant *secret_grant_free(struct secret_grant *g)
{
        if (!g)
                return NULL;
        for (size_t i = 0; g->env && i < g->n; i++)
                sodium_free((void *)g->env[i]);
        free(g->env);
        mask_free(g->mask);
        free(g);
        return NULL;
}
