#include "core/request/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "core/request/synonyms.h"
#include "secret/handle.h"

static const char *request_text(const json_t *o, const char *name)
{
        return json_string_value(json_object_get(o, name));
}

int exec_request_own(struct exec_request *r, char *data)
{
        char **owned = data ? realloc(r->owned, (r->n_owned + 1) * sizeof *owned) : NULL;
        if (!owned) {
                free(data);
                return -ENOMEM;
        }
        r->owned = owned;
        owned[r->n_owned++] = data;
        return 0;
}

static int take_content(struct exec_request *r, const json_t *value, const char *name, const char **ret,
                        size_t *ret_len, struct cella_err *err)
{
        if (json_is_string(value)) {
                *ret = json_string_value(value);
                *ret_len = json_string_length(value);
                return 0;
        }
        const json_t *encoded = json_object_get(value, "base64");
        size_t len = json_string_length(encoded), size = len / 4 * 3 + 3;
        char *data = malloc(size + 1);
        if (exec_request_own(r, data) < 0)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "request");
        ssize_t n = base64_decode(json_string_value(encoded), len, data, size);
        if (n < 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s.base64 is not base64", name);
        *ret = data;
        *ret_len = (size_t)n;
        return 0;
}

static int take_strings(struct exec_request *r, const json_t *array, const char ***ret)
{
        size_t i;
        const json_t *v;
        const char **list = calloc(json_array_size(array) + 1, sizeof *list);
        if (exec_request_own(r, (char *)list) < 0)
                return -ENOMEM;
        json_array_foreach (array, i, v)
                list[i] = json_string_value(v);
        *ret = list;
        return 0;
}

static int take_variables(struct exec_request *r, const json_t *env)
{
        const char *name;
        json_t *v;
        size_t n = 0;
        const char **list = calloc(json_object_size(env) + 1, sizeof *list);
        if (exec_request_own(r, (char *)list) < 0)
                return -ENOMEM;
        json_object_foreach ((json_t *)env, name, v) {
                char *pair = NULL;
                if (asprintf(&pair, "%s=%s", name, json_string_value(v)) < 0 || exec_request_own(r, pair) < 0)
                        return -ENOMEM;
                list[n++] = pair;
        }
        r->env = list;
        return 0;
}

static int take_files(struct exec_request *r, const json_t *files, struct cella_err *err)
{
        const char *path;
        json_t *v;
        int e = 0;
        r->files = calloc(json_object_size(files) + 1, sizeof *r->files);
        if (!r->files)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "request");
        json_object_foreach ((json_t *)files, path, v) {
                struct put_file *f = &r->files[r->n_files];
                char name[80];
                snprintf(name, sizeof name, "files['%.60s']", path);
                if (path[0] == '\0' || strlen(path) > 4000)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "files: a path must have 1 to 4000 bytes");
                f->path = path;
                if ((e = take_content(r, v, name, &f->data, &f->len, err)) < 0)
                        return e;
                r->n_files++;
        }
        return 0;
}

/* Sets the input that the log shows. */
static int take_log(struct exec_request *r)
{
        if (r->code) {
                r->log_input = malloc(r->code_len + 1);
                if (!r->log_input)
                        return -ENOMEM;
                memcpy(r->log_input, r->code, r->code_len + 1);
                r->log_input_len = r->code_len;
                return 0;
        }
        const json_t *command = json_object_get(r->document, "command");
        /* Without a command, it is the image's own. */
        r->log_input = command ? json_dumps(command, JSON_COMPACT) : strdup("[]");
        r->log_input_len = r->log_input ? strlen(r->log_input) : 0;
        return r->log_input ? 0 : -ENOMEM;
}

static int take_what(struct exec_request *r, struct cella_err *err)
{
        const json_t *command = json_object_get(r->document, "command"),
                     *args = json_object_get(r->document, "args");
        const json_t *code = json_object_get(r->document, "code");
        r->runtime = request_text(r->document, "runtime");
        if (command && (r->runtime || code || args))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "command cannot be combined with runtime, code or args");
        const char *image = request_text(r->document, "image");
        const bool own = image && strcmp(image, "host") != 0 && !r->runtime && !code && !args;
        if (!command && !own && (!r->runtime || !code))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s is required%s",
                               !r->runtime ? "runtime" : "code",
                               !r->runtime ? ", with code; or command" : "");
        if (code) {
                r->code = json_string_value(code);
                r->code_len = json_string_length(code);
        }
        if (command || args)
                return take_strings(r, command ? command : args, &r->argv) < 0
                               ? err_set(err, CELLA_INTERNAL, -ENOMEM, "request")
                               : 0;
        return 0;
}

/* A relative path begins in /workspace, like those of `files`. */
static int place_cwd(json_t *document, struct cella_err *err)
{
        const char *cwd = request_text(document, "cwd");
        if (!cwd || cwd[0] == '/')
                return 0;
        return json_object_set_new(document, "cwd", json_sprintf("/workspace/%s", cwd)) < 0
                       ? err_set(err, CELLA_INTERNAL, -ENOMEM, "request")
                       : 0;
}

int exec_request_from(json_t *document, struct exec_request *ret, struct cella_err *err)
{
        struct exec_request r = {.document = document, .scope = -1, .workspace = -1};
        const char *word;
        const json_t *v;
        int e = synonyms_apply(document, err);
        if (e == 0)
                e = place_cwd(document, err);
        if (e == 0)
                e = take_what(&r, err);
        if (e == 0 && (v = json_object_get(document, "stdin")))
                e = take_content(&r, v, "stdin", &r.input, &r.input_len, err);
        if (e == 0 && (v = json_object_get(document, "files")))
                e = take_files(&r, v, err);
        if (e == 0 && ((v = json_object_get(document, "env")) ? take_variables(&r, v) : 0) < 0)
                e = err_set(err, CELLA_INTERNAL, -ENOMEM, "request");
        if (e == 0 && take_log(&r) < 0)
                e = err_set(err, CELLA_INTERNAL, -ENOMEM, "request");
        r.cwd = request_text(document, "cwd");
        r.image = request_text(document, "image");
        r.engine = engine_from(request_text(document, "engine"));
        r.base64 = (word = request_text(document, "encoding")) && !strcmp(word, "base64");
        r.kill_on_output_limit = (word = request_text(document, "on_output_limit")) && !strcmp(word, "kill");
        r.detach = json_is_true(json_object_get(document, "detach"));
        r.rich = json_is_true(json_object_get(document, "rich"));
        r.list_files = r.rich || json_is_true(json_object_get(document, "list_files"));
        r.session = request_text(document, "session");
        r.agent = request_text(document, "agent");
        if ((word = request_text(document, "scope")))
                r.scope = word_index(scope_words, word);
        if ((word = request_text(document, "workspace")))
                r.workspace = word_index(workspace_words, word);
        r.network = json_object_get(document, "network");
        r.mounts = json_object_get(document, "mounts");
        r.secrets = json_object_get(document, "secrets");
        r.allowed_imports = json_object_get(document, "allowed_imports");
        if (e == 0)
                e = secret_handles_check_env(r.secrets, json_object_get(document, "env"), "secrets", err);
        r.limits = json_object_get(document, "limits");
        r.timeout_ms = (uint64_t)json_integer_value(json_object_get(document, "timeout_ms"));
        if (e < 0)
                exec_request_done(&r);
        else
                *ret = r;
        return e;
}

void exec_request_done(struct exec_request *r)
{
        for (size_t i = 0; i < r->n_owned; i++)
                free(r->owned[i]);
        free(r->owned);
        secret_grant_free(r->grant);
        free(r->report);
        free(r->files);
        free(r->log_input);
        json_decref(r->document);
        *r = (struct exec_request){0};
}

bool exec_request_wants_value(const struct exec_request *r)
{
        static const char *const names[] = {"python", "node"};
        for (size_t i = 0; r->rich && r->code && r->runtime && i < ARRAY_LEN(names); i++) {
                const size_t len = strlen(names[i]);
                if (!strncmp(r->runtime, names[i], len) &&
                    strspn(r->runtime + len, "0123456789.") == strlen(r->runtime + len))
                        return true;
        }
        return false;
}
