#include "secret/handle.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

#define OPEN "{{secret:"
#define CLOSE "}}"
#define ALL "*"

int secret_handle_parse(const char *text, size_t len, char ret[SECRET_NAME_SIZE])
{
        const size_t open = sizeof OPEN - 1, close = sizeof CLOSE - 1;
        if (len > open + close && !memcmp(text, OPEN, open) && !memcmp(text + len - close, CLOSE, close)) {
                text += open;
                len -= open + close;
        }
        if (!secret_name_valid(text, len))
                return -EINVAL;
        memcpy(ret, text, len);
        ret[len] = '\0';
        return 0;
}

static int check_handle(const char *variable, const json_t *handle, const char *path, struct cella_err *err)
{
        char name[SECRET_NAME_SIZE];
        if (!secret_variable_valid(variable, strlen(variable))) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s: '%.80s' cannot be the name of a variable",
                        path, variable);
                return err_hint(err, "a variable is %s", SECRET_VARIABLE_RULE);
        }
        if (!json_is_string(handle)) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s.%.80s must be a string", path, variable);
                return err_hint(err, "{\"%.60s\": \"{{secret:name}}\"}", variable);
        }
        /* The text may be a value instead of a name, so it is not quoted. */
        if (secret_handle_parse(json_string_value(handle), json_string_length(handle), name) < 0) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        "%s.%.80s must be {{secret:name}} or the name of a secret", path, variable);
                return err_hint(err, "store the value with 'cella secret set NAME', and use that name here");
        }
        return 0;
}

int secret_handles_check(const json_t *handles, const char *path, struct cella_err *err)
{
        const char *variable;
        json_t *handle;
        if (!json_is_object(handles)) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s must be an object", path);
                return err_hint(err, "{\"VARIABLE\": \"{{secret:name}}\"}");
        }
        if (json_object_size(handles) > SECRET_HANDLES_MAX)
                return err_say(err, CELLA_INVALID_REQUEST, -E2BIG, "%s must have at most %d members", path,
                               SECRET_HANDLES_MAX);
        json_object_foreach ((json_t *)handles, variable, handle) {
                int r = check_handle(variable, handle, path, err);
                if (r < 0)
                        return r;
        }
        return 0;
}

int secret_handles_check_env(const json_t *handles, const json_t *env, const char *path,
                             struct cella_err *err)
{
        const char *variable;
        json_t *handle;
        json_object_foreach ((json_t *)handles, variable, handle) {
                if (!env || !json_object_get(env, variable))
                        continue;
                err_say(err, CELLA_INVALID_REQUEST, -EEXIST, "%s.%.80s is also in env", path, variable);
                return err_hint(err, "set the variable in only one of them");
        }
        return 0;
}

int secret_list_check(const json_t *list, const char *path, struct cella_err *err)
{
        size_t i;
        const json_t *name;
        if (!json_is_array(list))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s must be an array of names", path);
        json_array_foreach (list, i, name) {
                const char *text = json_string_value(name);
                if (text && (!strcmp(text, ALL) || secret_name_valid(text, json_string_length(name))))
                        continue;
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s[%zu] must be the name of a secret, or \"*\"",
                        path, i);
                return err_hint(err, "a name is %s", SECRET_NAME_RULE);
        }
        return 0;
}

bool secret_list_has(const json_t *list, const char *name)
{
        size_t i;
        const json_t *one;
        json_array_foreach (list, i, one) {
                const char *text = json_string_value(one);
                if (text && (!strcmp(text, ALL) || !strcmp(text, name)))
                        return true;
        }
        return false;
}
