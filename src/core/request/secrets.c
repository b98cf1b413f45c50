/* core/request/secrets.c -- the secrets of a request: grants them and masks them in what others can see. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/request/request.h"

struct mask *exec_request_mask(const struct exec_request *r)
{
        return secret_grant_mask(r->grant);
}

/* Combines both lists of variables; the values are not copied. */
static int add_variables(struct exec_request *r)
{
        size_t n = 0;
        while (r->env && r->env[n])
                n++;
        const char **list = calloc(n + r->grant->n + 1, sizeof *list);
        char **owned = list ? realloc(r->owned, (r->n_owned + 1) * sizeof *owned) : NULL;
        if (!owned) {
                free(list);
                return -ENOMEM;
        }
        r->owned = owned;
        owned[r->n_owned++] = (char *)list;
        for (size_t i = 0; i < n; i++)
                list[i] = r->env[i];
        for (size_t i = 0; i < r->grant->n; i++)
                list[n + i] = r->grant->env[i];
        r->env = list;
        return 0;
}

int exec_request_grant(struct core *core, const struct caller *caller, struct exec_request *r,
                       struct cella_err *err)
{
        json_t *allowed = NULL;
        if (json_object_size(r->secrets) == 0)
                return 0;
        if (!core->secrets) {
                *err = core->no_secrets;
                return -ENOTSUP;
        }
        if (!caller->owner) /* a key from before secrets existed has none */
                allowed = state_key_secrets(core->state, caller->key);
        int e = caller->owner || allowed
                        ? secret_grant_new(core->secrets, r->secrets, allowed, "secrets", &r->grant, err)
                        : err_set(err, CELLA_INTERNAL, -ENOMEM, "secrets");
        json_decref(allowed);
        if (e == 0 && add_variables(r) < 0)
                e = err_set(err, CELLA_INTERNAL, -ENOMEM, "secrets");
        if (e == 0)
                r->log_input_len = mask_text(exec_request_mask(r), r->log_input, r->log_input_len);
        return e;
}

json_t *exec_request_command(const struct exec_request *r)
{
        json_t *command = json_object_get(r->document, "command"), *masked;
        struct mask *mask = exec_request_mask(r);
        size_t i;
        const json_t *word;
        if (!command || !mask)
                return json_incref(command);
        masked = json_array();
        json_array_foreach (command, i, word) {
                char *text = strdup(json_string_value(word));
                if (text)
                        mask_string(mask, text);
                json_array_append_new(masked, json_string(text ? text : "***"));
                free(text);
        }
        return masked;
}
