#include "box/request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/limits.h"
#include "box/pool.h"

#define CODE_MAX (4 * 1024 * 1024 - 4096)
#define CONTENT_MAX (16 * 1024 * 1024)
#define FILES_MAX 256

static const char *const encoding_words[] = {"utf-8", "base64", NULL};
static const char *const output_words[] = {"drain", "kill", NULL};

static const struct field argument = {.name = "", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .max = 131071};

/* "text" or {"base64": "..."}. */
static int check_content(const json_t *value, const char *path, struct cella_err *err)
{
        const json_t *encoded = json_is_object(value) && json_object_size(value) == 1
                                        ? json_object_get(value, "base64")
                                        : NULL;
        if (json_is_string(value) ? json_string_length(value) <= CONTENT_MAX : json_is_string(encoded))
                return 0;
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                       "%s must be a string or {\"base64\": \"...\"}, of at most %d bytes", path,
                       CONTENT_MAX);
}

static int check_variables(const json_t *value, const char *path, struct cella_err *err)
{
        const char *name;
        json_t *v;
        json_object_foreach ((json_t *)value, name, v) {
                if (name[0] == '\0' || strchr(name, '='))
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "%s: '%.60s' cannot be the name of a variable", path, name);
        }
        return 0;
}

static int check_image(const json_t *value, const char *path, struct cella_err *err)
{
        if (!strcmp(json_string_value(value), "host"))
                return 0;
        err_say(err, CELLA_NOT_FOUND, -ENOENT, "%s: no image '%.60s'", path, json_string_value(value));
        return err_hint(err, "the one image there is now is 'host'");
}

static const struct field content = {.name = "", .type = FIELD_ANY, .check = check_content};

/* Those of every request that runs something come first. */
#define EXEC_FIELDS                                                                                          \
        {.name = "runtime",                                                                                  \
         .type = FIELD_STRING,                                                                               \
         .flags = FIELD_NO_NUL,                                                                              \
         .min = 1,                                                                                           \
         .max = 64,                                                                                          \
         .help = "language of the code: sh, python3, node..."},                                              \
                {.name = "code", .type = FIELD_STRING, .max = CODE_MAX, .help = "the snippet to run"},       \
                {.name = "command",                                                                          \
                 .type = FIELD_ARRAY,                                                                        \
                 .item = &argument,                                                                          \
                 .min = 1,                                                                                   \
                 .max = 1000,                                                                                \
                 .help = "a command with its arguments, instead of runtime and code"},                       \
                {.name = "args",                                                                             \
                 .type = FIELD_ARRAY,                                                                        \
                 .item = &argument,                                                                          \
                 .max = 1000,                                                                                \
                 .help = "arguments for the code"},                                                          \
                {.name = "stdin",                                                                            \
                 .type = FIELD_ANY,                                                                          \
                 .check = check_content,                                                                     \
                 .help = "standard input: text or {\"base64\": \"...\"}"},                                   \
                {.name = "env",                                                                              \
                 .type = FIELD_MAP,                                                                          \
                 .item = &argument,                                                                          \
                 .max = 1000,                                                                                \
                 .check = check_variables,                                                                   \
                 .help = "environment variables on top of the clean environment"},                           \
                {.name = "files",                                                                            \
                 .type = FIELD_MAP,                                                                          \
                 .item = &content,                                                                           \
                 .max = FILES_MAX,                                                                           \
                 .help = "files written before the run: path to text or {\"base64\": \"...\"}"},             \
                {.name = "cwd",                                                                              \
                 .type = FIELD_STRING,                                                                       \
                 .flags = FIELD_NO_NUL,                                                                      \
                 .min = 1,                                                                                   \
                 .max = 4095,                                                                                \
                 .help = "working directory; /workspace by default"},                                        \
                {.name = "limits", .type = FIELD_OBJECT, .help = "as in the settings"},                      \
                {.name = "timeout_ms",                                                                       \
                 .type = FIELD_INTEGER,                                                                      \
                 .min = 1,                                                                                   \
                 .max = 7 * INT64_C(86400000),                                                               \
                 .help = "short for limits.timeout_ms"},                                                     \
                {.name = "encoding",                                                                         \
                 .type = FIELD_WORD,                                                                         \
                 .words = encoding_words,                                                                    \
                 .help = "of stdout and stderr in the answer"},                                              \
                {.name = "on_output_limit",                                                                  \
                 .type = FIELD_WORD,                                                                         \
                 .words = output_words,                                                                      \
                 .help = "what output past limits.output_bytes does"},                                       \
                {.name = "detach", .type = FIELD_BOOLEAN, .help = "goes on when the client goes away"},      \
                {.name = "list_files", .type = FIELD_BOOLEAN, .help = "say what changed in the workspace"},  \
        {                                                                                                    \
                .name = "network", .type = FIELD_OBJECT, .help = "what it may reach"                         \
        }

static struct field *with_tables(struct field *fields)
{
        for (struct field *f = fields; f->name; f++)
                if (!strcmp(f->name, "limits"))
                        f->fields = limits_bare_fields();
                else if (!strcmp(f->name, "network"))
                        f->fields = network_request_fields();
        return fields;
}

const struct field *exec_fields(void)
{
        static struct field fields[] = {EXEC_FIELDS,
                                        {.name = "image",
                                         .type = FIELD_STRING,
                                         .max = 256,
                                         .check = check_image,
                                         .help = "root file system"},
                                        {.name = "scope",
                                         .type = FIELD_WORD,
                                         .words = scope_words,
                                         .help = "which executions share a sandbox"},
                                        {.name = "session",
                                         .type = FIELD_STRING,
                                         .flags = FIELD_NO_NUL,
                                         .min = 1,
                                         .max = 128,
                                         .help = "the conversation it belongs to"},
                                        {.name = "agent",
                                         .type = FIELD_STRING,
                                         .flags = FIELD_NO_NUL,
                                         .min = 1,
                                         .max = 128,
                                         .help = "the agent it runs for"},
                                        {.name = "workspace",
                                         .type = FIELD_WORD,
                                         .words = workspace_words,
                                         .help = "what it sees of workspace_root/<agent>"},
                                        {0}};
        return with_tables(fields);
}

const struct field *sandbox_exec_fields(void)
{
        static struct field fields[] = {EXEC_FIELDS, {0}};
        return with_tables(fields);
}

const struct field *sandbox_fields(void)
{
        static struct field fields[] = {
                {.name = "image",
                 .type = FIELD_STRING,
                 .max = 256,
                 .check = check_image,
                 .help = "root file system"},
                {.name = "limits", .type = FIELD_OBJECT, .help = "as in the settings"},
                {.name = "network", .type = FIELD_OBJECT, .help = "what it may reach"},
                {.name = "workspace",
                 .type = FIELD_WORD,
                 .words = workspace_words,
                 .help = "what it sees of workspace_root/<agent>"},
                {.name = "agent",
                 .type = FIELD_STRING,
                 .flags = FIELD_NO_NUL,
                 .min = 1,
                 .max = 128,
                 .help = "the agent it is for"},
                {.name = "ttl_ms",
                 .type = FIELD_INTEGER,
                 .flags = FIELD_NULLABLE,
                 .min = 1,
                 .max = 3650 * INT64_C(86400000),
                 .help = "it is ended this long after it was made"},
                {.name = "idle_timeout_ms",
                 .type = FIELD_INTEGER,
                 .flags = FIELD_NULLABLE,
                 .min = 1,
                 .max = 3650 * INT64_C(86400000),
                 .help = "it is ended when nothing was run in it for this long"},
                {.name = "metadata",
                 .type = FIELD_MAP,
                 .item = &argument,
                 .max = 64,
                 .help = "words of your own, to find it by"},
                {0}};
        return with_tables(fields);
}

static const char *text(const json_t *o, const char *name)
{
        return json_string_value(json_object_get(o, name));
}

/* Room for strings that are not in the document. */
static int own(struct exec_request *r, char *data)
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
        if (own(r, data) < 0)
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
        if (own(r, (char *)list) < 0)
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
        if (own(r, (char *)list) < 0)
                return -ENOMEM;
        json_object_foreach ((json_t *)env, name, v) {
                char *pair = NULL;
                if (asprintf(&pair, "%s=%s", name, json_string_value(v)) < 0 || own(r, pair) < 0)
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

/* What the log shows as its input. */
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
        r->log_input = json_dumps(json_object_get(r->document, "command"), JSON_COMPACT);
        r->log_input_len = r->log_input ? strlen(r->log_input) : 0;
        return r->log_input ? 0 : -ENOMEM;
}

static int take_what(struct exec_request *r, struct cella_err *err)
{
        const json_t *command = json_object_get(r->document, "command"),
                     *args = json_object_get(r->document, "args");
        const json_t *code = json_object_get(r->document, "code");
        r->runtime = text(r->document, "runtime");
        if (command && (r->runtime || code || args))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "command cannot be combined with runtime, code or args");
        if (!command && (!r->runtime || !code))
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

int exec_request_from(json_t *document, struct exec_request *ret, struct cella_err *err)
{
        struct exec_request r = {.document = document, .scope = -1, .workspace = -1};
        const char *word;
        const json_t *v;
        int e = take_what(&r, err);
        if (e == 0 && (v = json_object_get(document, "stdin")))
                e = take_content(&r, v, "stdin", &r.input, &r.input_len, err);
        if (e == 0 && (v = json_object_get(document, "files")))
                e = take_files(&r, v, err);
        if (e == 0 && ((v = json_object_get(document, "env")) ? take_variables(&r, v) : 0) < 0)
                e = err_set(err, CELLA_INTERNAL, -ENOMEM, "request");
        if (e == 0 && take_log(&r) < 0)
                e = err_set(err, CELLA_INTERNAL, -ENOMEM, "request");
        r.cwd = text(document, "cwd");
        r.base64 = (word = text(document, "encoding")) && !strcmp(word, "base64");
        r.kill_on_output_limit = (word = text(document, "on_output_limit")) && !strcmp(word, "kill");
        r.detach = json_is_true(json_object_get(document, "detach"));
        r.list_files = json_is_true(json_object_get(document, "list_files"));
        r.session = text(document, "session");
        r.agent = text(document, "agent");
        if ((word = text(document, "scope")))
                r.scope = word_index(scope_words, word);
        if ((word = text(document, "workspace")))
                r.workspace = word_index(workspace_words, word);
        r.network = json_object_get(document, "network");
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
        free(r->files);
        free(r->log_input);
        json_decref(r->document);
        *r = (struct exec_request){0};
}

static bool names_directory(const char *name)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
        size_t len = strlen(name);
        return len < KEEPER_NAME_MAX && name[0] != '.' && strspn(name, letters) == len;
}

static int check_workspace(const struct box *box, enum box_workspace workspace, const char *agent,
                           struct cella_err *err)
{
        if (workspace == WORKSPACE_NONE)
                return 0;
        if (!agent)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "agent is required with workspace '%s'",
                               workspace_words[workspace]);
        if (!names_directory(agent))
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "agent must be of letters, digits, '.', '_' and '-', at most %d, not with '.' "
                               "in front, "
                               "to have a workspace",
                               KEEPER_NAME_MAX - 1);
        if (!box->settings.workspace_root) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                        "workspace '%s' needs the setting workspace_root", workspace_words[workspace]);
                return err_hint(err,
                                "cella settings set workspace_root DIR, with one directory for each agent");
        }
        return 0;
}

/* The settings' defaults, as far as the key may have them, then what was asked for. */
static int fill_limits(const struct box *box, const struct caller *caller, const json_t *asked,
                       uint64_t timeout_ms, struct sandbox_spec *spec, struct cella_err *err)
{
        spec->limits = box->settings.limits;
        for (size_t i = 0; i < limits_table_len && !caller->owner; i++) {
                const struct limit *l = &limits_table[i];
                uint64_t max = limit_get(&caller->limits_max, l), have = limit_get(&spec->limits, l);
                if (max > 0 && (have > max || have == 0))
                        limit_put(&spec->limits, l, max);
        }
        limits_overlay(asked, &spec->limits, &spec->required);
        if (timeout_ms > 0)
                spec->limits.timeout_ms = timeout_ms;
        return caller_allows(caller, &spec->limits, err);
}

/* What was said; else the settings', if there is a name to share by; else what the names suggest. */
static enum box_scope scope_of(const struct box *box, const struct exec_request *r)
{
        enum box_scope standard = box->settings.scope;
        if (r->scope >= 0)
                return (enum box_scope)r->scope;
        if (standard == SCOPE_SHARED || (standard == SCOPE_SESSION && r->session) ||
            (standard == SCOPE_AGENT && r->agent))
                return standard;
        return r->session ? SCOPE_SESSION : r->agent ? SCOPE_AGENT : SCOPE_EXECUTION;
}

static int find_or_make(struct box *box, const struct sandbox_spec *spec, const struct exec_request *r,
                        struct box_sandbox **ret, struct cella_err *err)
{
        if (!spec->one_shot)
                return sandbox_of_scope(box, spec, ret, err);
        *ret = pool_take(box, spec, r);
        return *ret ? 0 : sandbox_add(box, spec, ret, err);
}

int exec_request_sandbox(struct box *box, const struct caller *caller, const struct exec_request *r,
                         struct box_sandbox **ret, struct cella_err *err)
{
        struct sandbox_spec spec = {
                .caller = caller, .session = r->session, .agent = r->agent, .asked = r->network};
        spec.workspace = r->workspace >= 0 ? (enum box_workspace)r->workspace
                         : r->agent        ? box->settings.workspace
                                           : WORKSPACE_NONE;
        spec.scope = scope_of(box, r);
        int e = network_narrow(box, caller, r->network, &spec.network, err);
        if (e == 0)
                e = check_workspace(box, spec.workspace, r->agent, err);
        if (e == 0)
                e = fill_limits(box, caller, r->limits, r->timeout_ms, &spec, err);
        if (e == 0 &&
            ((spec.scope == SCOPE_SESSION && !r->session) || (spec.scope == SCOPE_AGENT && !r->agent)))
                e = err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s is required with scope '%s'",
                            scope_words[spec.scope], scope_words[spec.scope]);
        spec.one_shot = spec.scope == SCOPE_EXECUTION;
        if (e == 0)
                e = find_or_make(box, &spec, r, ret, err);
        network_done(&spec.network);
        return e;
}

int exec_request_limits(const struct exec_request *r, const struct box_sandbox *sb, struct cella_limits *ret,
                        struct cella_err *err)
{
        static const char *const own_limits[] = {"timeout_ms", "grace_ms", "cpu_time_ms", "output_bytes",
                                                 NULL};
        struct cella_limits asked = sb->limits;
        int e = network_check_same(&sb->network, r->network, err);
        if (e < 0)
                return e;
        limits_overlay(r->limits, &asked, NULL);
        if (r->timeout_ms > 0)
                asked.timeout_ms = r->timeout_ms;
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                uint64_t have = limit_get(&sb->limits, l), want = limit_get(&asked, l);
                if (want == have)
                        continue;
                if (word_index(own_limits, l->name) < 0)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                       "limits.%s belongs to the sandbox, which has %llu", l->name,
                                       (unsigned long long)have);
                if (have != 0 && (want > have || want == 0))
                        return err_say(err, CELLA_INVALID_REQUEST, -ERANGE,
                                       "limits.%s must be at most the sandbox's own %llu", l->name,
                                       (unsigned long long)have);
        }
        *ret = asked;
        return 0;
}

int sandbox_request(struct box *box, const struct caller *caller, const json_t *document,
                    struct box_sandbox **ret, struct cella_err *err)
{
        struct sandbox_spec spec = {
                .caller = caller, .scope = SCOPE_EXECUTION, .agent = text(document, "agent")};
        const char *word = text(document, "workspace");
        spec.workspace = word         ? (enum box_workspace)word_index(workspace_words, word)
                         : spec.agent ? box->settings.workspace
                                      : WORKSPACE_NONE;
        spec.ttl_ms = (uint64_t)json_integer_value(json_object_get(document, "ttl_ms"));
        spec.idle_timeout_ms = (uint64_t)json_integer_value(json_object_get(document, "idle_timeout_ms"));
        spec.metadata = json_object_get(document, "metadata");
        int e = network_narrow(box, caller, json_object_get(document, "network"), &spec.network, err);
        if (e == 0)
                e = check_workspace(box, spec.workspace, spec.agent, err);
        if (e == 0)
                e = fill_limits(box, caller, json_object_get(document, "limits"), 0, &spec, err);
        if (e == 0)
                e = sandbox_add(box, &spec, ret, err);
        network_done(&spec.network);
        return e;
}
