/* core/request/fields.c -- field tables of requests that run code or make a sandbox. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "core/request/request.h"
#include "core/request/synonyms.h"
#include "core/sandbox/operation.h"
#include "core/sandbox/sandbox.h"
#include "core/settings/image_fields.h"
#include "core/settings/mount_fields.h"
#include "core/settings/network_fields.h"
#include "secret/handle.h"

#define CODE_MAX (4 * 1024 * 1024 - 4096)
#define CONTENT_MAX (16 * 1024 * 1024)
#define FILES_MAX 256
#define IMPORTS_MAX 256 /* the same as in request_scan.c */

static const char *const encoding_words[] = {"utf-8", "base64", NULL};
static const char *const output_words[] = {"drain", "kill", NULL};

static const struct field argument = {.name = "", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .max = 131071};

static const struct field module = {
        .name = "", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .min = 1, .max = 200};

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

int request_files_check(const json_t *value, const char *path, struct cella_err *err)
{
        const char *file;
        json_t *v;
        int r = 0;
        json_object_foreach ((json_t *)value, file, v) {
                char name[100];
                if (!file[0])
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s: a path must not be empty",
                                       path);
                snprintf(name, sizeof name, "%.20s['%.60s']", path, file);
                if ((r = operation_check_path(file, name, err)) < 0)
                        return r;
                if (file[strlen(file) - 1] == '/')
                        return err_say(err, CELLA_INVALID_REQUEST, -EISDIR,
                                       "%s is a directory: a file must have a name", name);
        }
        return 0;
}

static int check_cwd(const json_t *value, const char *path, struct cella_err *err)
{
        return operation_check_path(json_string_value(value), path, err);
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

static int check_labels(const json_t *value, const char *path, struct cella_err *err)
{
        (void)path; /* there is one such field */
        return sandbox_check_labels(value, err);
}

static const struct field content = {.name = "", .type = FIELD_ANY, .check = check_content};

/* The fields that all requests to run code have. */
#define EXEC_FIELDS                                                                                          \
        {.name = "runtime",                                                                                  \
         .type = FIELD_STRING,                                                                               \
         .flags = FIELD_NO_NUL,                                                                              \
         .min = 1,                                                                                           \
         .max = 64,                                                                                          \
         .help = "language of the code: sh, python3, node22, go, c..."},                                     \
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
                {.name = "secrets",                                                                          \
                 .type = FIELD_MAP,                                                                          \
                 .item = &argument,                                                                          \
                 .max = SECRET_HANDLES_MAX,                                                                  \
                 .check = secret_handles_check,                                                              \
                 .help = "variables with the values of secrets: {\"VARIABLE\": \"{{secret:name}}\"}"},       \
                {.name = "files",                                                                            \
                 .type = FIELD_MAP,                                                                          \
                 .item = &content,                                                                           \
                 .max = FILES_MAX,                                                                           \
                 .check = request_files_check,                                                               \
                 .help = "files written before the run: path to text or {\"base64\": \"...\"}"},             \
                {.name = "cwd",                                                                              \
                 .type = FIELD_STRING,                                                                       \
                 .flags = FIELD_NO_NUL,                                                                      \
                 .min = 1,                                                                                   \
                 .max = 4095,                                                                                \
                 .check = check_cwd,                                                                         \
                 .help = "working directory; /workspace by default, where a relative path begins"},          \
                {.name = "limits", .type = FIELD_OBJECT, .help = "as in the settings"},                      \
                {.name = "timeout_ms",                                                                       \
                 .type = FIELD_INTEGER,                                                                      \
                 .min = 1,                                                                                   \
                 .max = 7 * INT64_C(86400000),                                                               \
                 .help = "short for limits.timeout_ms"},                                                     \
                {.name = "encoding",                                                                         \
                 .type = FIELD_WORD,                                                                         \
                 .words = encoding_words,                                                                    \
                 .help = "encoding of stdout and stderr in the answer"},                                     \
                {.name = "on_output_limit",                                                                  \
                 .type = FIELD_WORD,                                                                         \
                 .words = output_words,                                                                      \
                 .help = "output beyond limits.output_bytes: drain discards it, kill ends the run"},         \
                {.name = "allowed_imports",                                                                  \
                 .type = FIELD_ARRAY,                                                                        \
                 .item = &module,                                                                            \
                 .max = IMPORTS_MAX,                                                                         \
                 .help = "modules that the code may import; code that may import others is not run"},        \
                {.name = "detach",                                                                           \
                 .type = FIELD_BOOLEAN,                                                                      \
                 .help = "the execution continues when the client disconnects"},                             \
                {.name = "list_files",                                                                       \
                 .type = FIELD_BOOLEAN,                                                                      \
                 .help = "list the changed files of the workspace in the result"},                           \
                {.name = "rich",                                                                             \
                 .type = FIELD_BOOLEAN,                                                                      \
                 .help = "results: the value of the last expression (Python, Node), and PNG, JPEG and SVG "  \
                         "files that the code writes; implies list_files"},                                  \
        {                                                                                                    \
                .name = "network", .type = FIELD_OBJECT, .help = "network access"                            \
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

/* Fields of requests that make a sandbox. */
#define IMAGE_FIELD                                                                                          \
        {                                                                                                    \
                .name = "image", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .max = 255,                    \
                .check = image_name_check, .help = "root file system: an image's name or id, or host"        \
        }
#define ENGINE_FIELD                                                                                         \
        {                                                                                                    \
                .name = "engine", .type = FIELD_WORD, .words = engine_words,                                 \
                .help = "engine that creates the sandbox"                                                    \
        }
#define WORKSPACE_FIELD                                                                                      \
        {                                                                                                    \
                .name = "workspace", .type = FIELD_WORD, .words = workspace_words,                           \
                .help = "access to workspace_root/<agent>"                                                   \
        }
#define MOUNTS_FIELD                                                                                         \
        {                                                                                                    \
                .name = "mounts", .type = FIELD_ARRAY, .item = &mount_request, .max = KEEPER_MOUNTS_MAX,     \
                .check = mounts_check_request,                                                               \
                .help = "directories of the host, by their names in the settings"                            \
        }
#define NAME_FIELD(name_, help_)                                                                             \
        {                                                                                                    \
                .name = (name_), .type = FIELD_STRING, .flags = FIELD_NO_NUL, .min = 1, .max = 128,          \
                .help = (help_)                                                                              \
        }
#define AGE_FIELD(name_, help_)                                                                              \
        {                                                                                                    \
                .name = (name_), .type = FIELD_INTEGER, .flags = FIELD_NULLABLE, .min = 1,                   \
                .max = 3650 * INT64_C(86400000), .help = (help_)                                             \
        }

const struct field *exec_fields(void)
{
        static struct field fields[] = {
                EXEC_FIELDS,
                IMAGE_FIELD,
                ENGINE_FIELD,
                {.name = "scope",
                 .type = FIELD_WORD,
                 .words = scope_words,
                 .help = "which executions share a sandbox"},
                NAME_FIELD("session", "name of the session that the execution belongs to"),
                NAME_FIELD("agent", "name of the agent that the execution belongs to"),
                WORKSPACE_FIELD,
                MOUNTS_FIELD,
                SYNONYM_RUN_FIELDS,
                SYNONYM_LIMIT_FIELDS,
                {0}};
        return with_tables(fields);
}

const struct field *sandbox_exec_fields(void)
{
        static struct field fields[] = {EXEC_FIELDS, SYNONYM_RUN_FIELDS, SYNONYM_LIMIT_FIELDS, {0}};
        return with_tables(fields);
}

#define SANDBOX_NAME_FIELD(flags_)                                                                           \
        {                                                                                                    \
                .name = "name", .type = FIELD_STRING, .flags = FIELD_NO_NUL | (flags_), .min = 1, .max = 64, \
                .help = "can be used instead of the id; of a-z, A-Z, 0-9, '.', '_' and '-', unique for "     \
                        "each key"                                                                           \
        }

const struct field *lease_fields(void)
{
        static const struct field fields[] = {
                {.name = "runtime",
                 .type = FIELD_STRING,
                 .flags = FIELD_REQUIRED | FIELD_NO_NUL,
                 .min = 1,
                 .max = 64,
                 .help = "the runtime of the pool, as in the settings"},
                IMAGE_FIELD,
                AGE_FIELD("ttl_ms", "the sandbox is ended this long after it was acquired"),
                AGE_FIELD("idle_timeout_ms", "the sandbox is ended when nothing was run in it for this long"),
                {.name = "metadata",
                 .type = FIELD_MAP,
                 .item = &argument,
                 .max = SANDBOX_LABELS_MAX,
                 .help = "labels, by which GET /v1/sandboxes finds the sandbox"},
                {0}};
        return fields;
}

const struct field *sandbox_fields(void)
{
        static struct field fields[] = {
                IMAGE_FIELD,
                ENGINE_FIELD,
                {.name = "limits", .type = FIELD_OBJECT, .help = "as in the settings"},
                {.name = "network", .type = FIELD_OBJECT, .help = "network access"},
                WORKSPACE_FIELD,
                MOUNTS_FIELD,
                SANDBOX_NAME_FIELD(0),
                NAME_FIELD("agent", "the agent that uses the sandbox"),
                AGE_FIELD("ttl_ms", "the sandbox is ended this long after its creation"),
                AGE_FIELD("idle_timeout_ms", "after this long without use the sandbox is stopped if it has a "
                                             "ttl_ms, otherwise removed"),
                {.name = "persistent",
                 .type = FIELD_BOOLEAN,
                 .help = "workspace, limits and metadata survive a restart of the daemon; false: files are "
                         "in memory only"},
                {.name = "metadata",
                 .type = FIELD_MAP,
                 .item = &argument,
                 .max = SANDBOX_LABELS_MAX,
                 .check = check_labels,
                 .help = "labels, by which GET /v1/sandboxes finds the sandbox"},
                SYNONYM_LIMIT_FIELDS,
                {0}};
        return with_tables(fields);
}

const struct field *sandbox_patch_fields(void)
{
        static const struct field label = {
                .name = "", .type = FIELD_STRING, .flags = FIELD_NO_NUL | FIELD_NULLABLE, .max = 131071};
        static struct field fields[] = {
                {.name = "limits", .type = FIELD_OBJECT, .help = "higher limits, within those of the key"},
                AGE_FIELD("ttl_ms", "the sandbox is ended this long after this request; null: never"),
                {.name = "metadata",
                 .type = FIELD_MAP,
                 .item = &label,
                 .max = SANDBOX_LABELS_MAX,
                 .help = "labels that are added or changed; null removes one"},
                SANDBOX_NAME_FIELD(FIELD_NULLABLE),
                {0}};
        return with_tables(fields);
}
