#include "core/settings/settings.h"
#include "core/settings/http_fields.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/limits.h"
#include "core/settings/image_fields.h"
#include "core/settings/mount_fields.h"
#include "core/settings/network_fields.h"
#include "core/settings/runtime_fields.h"
#include "snapshot/preload.h"

#define DAY_MS INT64_C(86400000)

static const char *const mode_words[] = {"all", "selective", "off", NULL}; /* by enum sandbox_mode */
static const char *const scan_words[] = {"off", "warn", "block", NULL};    /* by enum scan_action */
static const char *const severity_words[] = {"low", "medium", "high", NULL};
static const char *const preload_words[] = {PRELOAD_AUTO, NULL};

static int check_cluster(const json_t *value, const char *path, struct cella_err *err)
{
        if (json_is_null(value))
                return 0;
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s must be null: clusters are not supported",
                       path);
}

static int check_directory(const json_t *value, const char *path, struct cella_err *err)
{
        if (!json_is_string(value) || json_string_value(value)[0] == '/')
                return 0;
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "%s must be an absolute path", path);
}

static const struct field word = {
        .name = "", .type = FIELD_STRING, .flags = FIELD_NO_NUL, .min = 1, .max = 128};

static const struct field sandboxes_fields[] = {
        {.name = "max",
         .type = FIELD_INTEGER,
         .min = 1,
         .max = 4000,
         .standard = "100",
         .help = "maximum number of sandboxes, including those of single executions; each caller has a share "
                 "of them"},
        {.name = "kept_max",
         .type = FIELD_INTEGER,
         .min = 1,
         .max = 100000,
         .standard = "1000",
         .help = "maximum number of sandboxes of one caller whose files are kept on disk, running or "
                 "stopped"},
        {.name = "idle_timeout_ms",
         .type = FIELD_INTEGER,
         .min = 100,
         .max = 365 * DAY_MS,
         .standard = "3600000",
         .help = "a sandbox in which nothing was run for this long is ended"},
        {.name = "cleanup_interval_ms",
         .type = FIELD_INTEGER,
         .min = 50,
         .max = DAY_MS,
         .standard = "30000",
         .help = "how often idle and expired sandboxes are ended"},
        {.name = "queue_timeout_ms",
         .type = FIELD_INTEGER,
         .min = 0,
         .max = 600000,
         .standard = "10000",
         .help = "how long a request waits for a free sandbox before it gets 429"},
        {.name = "queue_max",
         .type = FIELD_INTEGER,
         .min = 0,
         .max = 100000,
         .standard = "1024",
         .help = "requests that may wait at once"},
        {.name = "spare",
         .type = FIELD_INTEGER,
         .min = 0,
         .max = 64,
         .standard = "2",
         .help = "empty sandboxes made in advance, for requests that no pool serves"},
        {.name = "workspace_keep_ms",
         .type = FIELD_INTEGER,
         .min = 1000,
         .max = 3650 * DAY_MS,
         .standard = "604800000",
         .help = "how long the workspace of a session, agent or shared sandbox outlives its last use"},
        {0}};

static struct field pool_fields[] = {{.name = "runtime",
                                      .type = FIELD_STRING,
                                      .flags = FIELD_REQUIRED | FIELD_NO_NUL,
                                      .min = 1,
                                      .max = 64,
                                      .help = "runtime of the sandboxes made in advance"},
                                     {.name = "size",
                                      .type = FIELD_INTEGER,
                                      .flags = FIELD_REQUIRED,
                                      .min = 0,
                                      .max = 4000,
                                      .help = "how many sandboxes are kept ready; 0: only the template"},
                                     {.name = "lease",
                                      .type = FIELD_INTEGER,
                                      .min = 0,
                                      .max = 1000,
                                      .help = "how many sandboxes without a waiting interpreter are kept "
                                              "ready for POST /v1/pools/acquire"},
                                     {.name = "idle_timeout_ms",
                                      .type = FIELD_INTEGER,
                                      .min = 1000,
                                      .max = 3650 * DAY_MS,
                                      .help = "the pool is filled after the first execution that needs it, "
                                              "and emptied if none came for so long; without this field "
                                              "it is always full"},
                                     {.name = "preload",
                                      .type = FIELD_ARRAY,
                                      .item = &word,
                                      .max = 100,
                                      .words = preload_words,
                                      .help = "auto (default for Python and Node): the standard library "
                                              "is ready, hidden until code imports it; a list, for Python: "
                                              "also these modules are imported in advance; an empty list: "
                                              "nothing is"},
                                     {.name = "image",
                                      .type = FIELD_STRING,
                                      .flags = FIELD_NO_NUL,
                                      .max = 255,
                                      .check = image_name_check,
                                      .help = "root file system, if it differs from the setting image"},
                                     {.name = "limits",
                                      .type = FIELD_OBJECT,
                                      .help = "limits of these sandboxes, if they differ from the settings"},
                                     {0}};
static struct field runtime = {.name = "", .type = FIELD_OBJECT};
static const struct field pool = {.name = "", .type = FIELD_OBJECT, .fields = pool_fields};

static const struct field category = {.name = "", .type = FIELD_WORD, .words = scan_category_words};

static const struct field block_fields[] = {
        {.name = "severity",
         .type = FIELD_WORD,
         .words = severity_words,
         .standard = "\"high\"",
         .help = "code with a finding of this severity, or of a higher one, is not run"},
        {.name = "categories",
         .type = FIELD_ARRAY,
         .item = &category,
         .max = 16,
         .standard = "[]",
         .help = "code with a finding of one of these categories is not run, whatever its severity: files, "
                 "network, process, native, evaluation, obfuscation, imports, unread"},
        {0}};

static const struct field scan_fields[] = {
        {.name = "enabled", .type = FIELD_BOOLEAN, .standard = "true", .help = "scan code"},
        {.name = "action",
         .type = FIELD_WORD,
         .words = scan_words,
         .standard = "\"warn\"",
         .help = "warn: findings are in the result; block: code with a finding that block describes is not "
                 "run"},
        {.name = "block", .type = FIELD_OBJECT, .fields = block_fields, .help = "what action block refuses"},
        {0}};

static const struct field audit_fields[] = {
        {.name = "keep_days",
         .type = FIELD_INTEGER,
         .min = 0,
         .max = 36500,
         .standard = "30",
         .help = "number of days that executions stay in the log; 0: for ever"},
        {.name = "keep_bytes",
         .type = FIELD_INTEGER,
         .min = 0,
         .max = INT64_C(1) << 50,
         .standard = "1073741824",
         .help = "maximum size of the log's database; 0: no limit"},
        {.name = "keep_output",
         .type = FIELD_BOOLEAN,
         .standard = "true",
         .help = "keep up to 64 KiB of each output stream in the log"},
        {0}};

static const struct field mcp_fields[] = {
        {.name = "text_bytes",
         .type = FIELD_INTEGER,
         .min = 2000,
         .max = 16 * 1024 * 1024,
         .standard = "30000",
         .help = "longer results of tools are shortened for the model, in the middle of each text"},
        {0}};

static const struct field docker_fields[] = {
        {.name = "socket",
         .type = FIELD_STRING,
         .flags = FIELD_NULLABLE | FIELD_NO_NUL,
         .min = 1,
         .max = 107,
         .standard = "null",
         .check = check_directory,
         .help = "Unix socket of Docker or Podman; null: DOCKER_HOST, or the usual places"},
        {.name = "runtime",
         .type = FIELD_STRING,
         .flags = FIELD_NULLABLE | FIELD_NO_NUL,
         .min = 1,
         .max = 63,
         .standard = "null",
         .help = "runtime for containers, such as runsc; null: the default of the engine"},
        {.name = "transport",
         .type = FIELD_WORD,
         .words = transport_words,
         .standard = "\"auto\"",
         .help = "how Cella talks to containers: socket, attach (for runtimes without sockets), or auto"},
        {0}};

static const struct field learning_fields[] = {
        {.name = "memory_bytes",
         .type = FIELD_INTEGER,
         .max = INT64_C(1) << 40,
         .standard = "268435456",
         .help = "maximum memory of templates with modules that executions often import, and of the "
                 "interpreters that wait with them; 0: nothing is learned"},
        {0}};

/* It becomes an argument of pip. */
static int check_index(const json_t *value, const char *path, struct cella_err *err)
{
        const char *text = json_string_value(value);
        bool plain = text && (!strncmp(text, "https://", 8) || !strncmp(text, "http://", 7));
        for (const char *c = text; plain && *c; c++)
                plain = *c > ' ' && *c < 127;
        return plain || !text ? 0
                              : err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                                        "%s must be an address, like https://pypi.example/simple", path);
}

static const struct field packages_fields[] = {
        {.name = "index",
         .type = FIELD_STRING,
         .flags = FIELD_NULLABLE | FIELD_NO_NUL,
         .min = 1,
         .max = 500,
         .standard = "null",
         .check = check_index,
         .help = "the index from which execute_python installs packages; null: that of pip"},
        {.name = "cache_bytes",
         .type = FIELD_INTEGER,
         .max = (int64_t)1 << 50,
         .standard = "1073741824",
         .help = "maximum disk space of packages that are kept for other sessions of the same key; 0: none"},
        {0}};

/* Makes the fields from the table of limits. */
static void make_limits(struct field fields[32])
{
        static char standards[32][24], helps[32][128];
        for (size_t i = 0; i < limits_table_len && i < 31; i++) {
                const struct limit *l = &limits_table[i];
                bool cores = l->unit == LIMIT_CORES, none = l->standard == 0 && l->min > 0;
                if (none)
                        snprintf(standards[i], sizeof standards[i], "null");
                else if (cores)
                        snprintf(standards[i], sizeof standards[i], "%.3f", (double)l->standard / 1000);
                else
                        snprintf(standards[i], sizeof standards[i], "%llu", (unsigned long long)l->standard);
                snprintf(helps[i], sizeof helps[i], "%s%s", l->help,
                         l->scope == LIMIT_OF_EXECUTION ? "; each execution may have its own" : "");
                fields[i] = (struct field){
                        .name = l->name,
                        .type = cores ? FIELD_NUMBER : FIELD_INTEGER,
                        .flags = none ? FIELD_NULLABLE : 0,
                        .min = (int64_t)l->min,
                        .max = !strcmp(l->name, "output_bytes") ? OUTPUT_BYTES_MAX : (int64_t)l->max,
                        .standard = standards[i],
                        .help = helps[i],
                        .title = l->title,
                };
        }
}

const struct field *limits_fields(void)
{
        static struct field fields[32];
        if (!fields[0].name)
                make_limits(fields);
        return fields;
}

const struct field *limits_bare_fields(void)
{
        static struct field fields[32];
        if (!fields[0].name)
                make_limits(fields);
        for (struct field *f = fields; f->name; f++)
                f->standard = NULL;
        return fields;
}

static struct field all_fields[] = {
        {.name = "mode",
         .type = FIELD_WORD,
         .words = mode_words,
         .standard = "\"all\"",
         .help = "all: everything runs in a sandbox; selective: single executions that the scanner "
                 "finds harmless run on the host; off: all single executions run on the host"},
        {.name = "scope",
         .type = FIELD_WORD,
         .words = scope_words,
         .standard = "\"execution\"",
         .help = "execution: a new sandbox for each execution, removed afterwards; session: one for each "
                 "session; agent: one for each agent, in all its sessions; shared: one for all"},
        {.name = "workspace",
         .type = FIELD_WORD,
         .words = workspace_words,
         .standard = "\"none\"",
         .help = "contents of /workspace: none: a private empty directory; ro: the agent's directory, "
                 "read-only; rw: the agent's directory, writable"},
        {.name = "workspace_root",
         .type = FIELD_STRING,
         .flags = FIELD_NULLABLE | FIELD_NO_NUL,
         .min = 1,
         .max = 1000,
         .standard = "null",
         .help = "host directory that contains one directory for each agent, for workspace ro and rw",
         .check = check_directory},
        {.name = "mounts",
         .type = FIELD_ARRAY,
         .item = &mount_setting,
         .max = 64,
         .standard = "[]",
         .help = "directories of the host that requests may ask for by name"},
        {.name = "engine",
         .type = FIELD_WORD,
         .words = engine_words,
         .standard = "\"native\"",
         .help = "engine that creates the sandboxes: native: Cella itself; docker: containers of Docker or "
                 "Podman, with their images"},
        {.name = "image",
         .type = FIELD_STRING,
         .flags = FIELD_NO_NUL,
         .min = 1,
         .max = 255,
         .standard = "\"host\"",
         .help = "root file system: an image's name or id; host: a read-only view of this machine",
         .check = image_name_check},
        {.name = "default_runtimes",
         .type = FIELD_MAP,
         .item = &word,
         .max = 100,
         .standard = "{\"python\": \"python3\", \"node\": \"node\"}",
         .help = "runtime to use when a request names only the language",
         .check = default_runtimes_check},
        {.name = "runtimes",
         .type = FIELD_MAP,
         .item = &runtime,
         .max = 100,
         .standard = "{}",
         .help = "images and programs of runtimes: {\"python3.12\": {\"image\": "
                 "\"python:3.12-slim\"}}",
         .check = runtimes_check},
        {.name = "limits", .type = FIELD_OBJECT, .help = "limits of a sandbox; a request may set others"},
        {.name = "network", .type = FIELD_OBJECT, .help = "network access of the code"},
        {.name = "sandboxes",
         .type = FIELD_OBJECT,
         .fields = sandboxes_fields,
         .help = "number and lifetime of sandboxes"},
        {.name = "pools",
         .type = FIELD_ARRAY,
         .item = &pool,
         .max = 100,
         .standard = "[{\"runtime\": \"python3\", \"size\": 4, \"preload\": \"" PRELOAD_AUTO
                     "\"}, {\"runtime\": \"sh\", \"size\": 4}, {\"runtime\": \"node\", \"size\": 2, "
                     "\"idle_timeout_ms\": 300000}]",
         .help = "sandboxes made in advance, each with a waiting interpreter"},
        {.name = "learning",
         .type = FIELD_OBJECT,
         .fields = learning_fields,
         .help = "templates that the daemon makes for what Python code imports"},
        {.name = "scan", .type = FIELD_OBJECT, .fields = scan_fields, .help = "the code scanner"},
        {.name = "audit", .type = FIELD_OBJECT, .fields = audit_fields, .help = "the log of executions"},
        {.name = "http", .type = FIELD_OBJECT, .help = "names and proxies of the HTTP server"},
        {.name = "mcp", .type = FIELD_OBJECT, .fields = mcp_fields, .help = "tools through MCP"},
        {.name = "images", .type = FIELD_OBJECT, .help = "where images come from"},
        {.name = "packages",
         .type = FIELD_OBJECT,
         .fields = packages_fields,
         .help = "packages that execute_python installs"},
        {.name = "docker", .type = FIELD_OBJECT, .fields = docker_fields, .help = "the engine docker"},
        {.name = "cluster",
         .type = FIELD_ANY,
         .flags = FIELD_NULLABLE,
         .standard = "null",
         .help = "must be null: clusters are not supported",
         .check = check_cluster},
        {0}};

/* Sets parts with tables that are built at run time or in other files. */
static void set_part(struct field *fields, const char *name, const struct field *part)
{
        while (strcmp(fields->name, name) != 0)
                fields++;
        fields->fields = part;
}

const struct field *settings_fields(void)
{
        set_part(all_fields, "limits", limits_fields());
        set_part(all_fields, "network", network_settings_fields());
        set_part(all_fields, "http", http_settings_fields());
        set_part(all_fields, "images", images_settings_fields());
        set_part(pool_fields, "limits", limits_bare_fields());
        runtime.fields = runtime_settings_fields();
        return all_fields;
}

void limits_overlay(const json_t *object, struct cella_limits *limits, uint32_t *required)
{
        for (size_t i = 0; object && i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                const json_t *value = json_object_get(object, l->name);
                if (!value)
                        continue;
                if (json_is_null(value))
                        limit_put(limits, l, 0);
                else if (l->unit == LIMIT_CORES)
                        limit_put(limits, l, (uint64_t)(json_number_value(value) * 1000 + 0.5));
                else
                        limit_put(limits, l, (uint64_t)json_integer_value(value));
                if (required && !json_is_null(value))
                        *required |= l->bit;
        }
}

json_t *limits_to_json(const struct cella_limits *limits)
{
        json_t *object = json_object();
        for (size_t i = 0; i < limits_table_len; i++) {
                const struct limit *l = &limits_table[i];
                uint64_t value = limit_get(limits, l);
                json_t *v = value == 0 && l->standard == 0 && l->min > 0 ? json_null()
                            : l->unit == LIMIT_CORES                     ? json_real((double)value / 1000)
                                                                         : json_integer((json_int_t)value);
                json_object_set_new(object, l->name, v);
        }
        return object;
}

static const char *text(const json_t *object, const char *name)
{
        return json_string_value(json_object_get(object, name));
}

static uint64_t number(const json_t *object, const char *name)
{
        return (uint64_t)json_integer_value(json_object_get(object, name));
}

/* What scan.block refuses. */
static struct scan_block block_from(const json_t *block)
{
        struct scan_block b = {.severity = (enum scan_severity)(
                                       SCAN_LOW + word_index(severity_words, text(block, "severity")))};
        const json_t *list = json_object_get(block, "categories"), *name;
        size_t i;
        json_array_foreach (list, i, name)
                b.categories |= 1u << word_index(scan_category_words, json_string_value(name));
        return b;
}

int settings_from(json_t *document, struct settings *ret, struct cella_err *err)
{
        const json_t *sandboxes = json_object_get(document, "sandboxes");
        const json_t *audit = json_object_get(document, "audit"), *scan = json_object_get(document, "scan");
        struct settings s = {.document = document};
        int r = network_check_settings(document, err);
        if (r == 0)
                r = mounts_check_settings(document, err);
        if (r < 0)
                return r;
        s.mode = (enum sandbox_mode)word_index(mode_words, text(document, "mode"));
        s.scan = json_is_true(json_object_get(scan, "enabled"))
                         ? (enum scan_action)word_index(scan_words, text(scan, "action"))
                         : ACTION_OFF;
        s.block = block_from(json_object_get(scan, "block"));
        s.engine = (enum engine_choice)word_index(engine_words, text(document, "engine"));
        s.scope = (enum sandbox_scope)word_index(scope_words, text(document, "scope"));
        s.workspace = (enum workspace_access)word_index(workspace_words, text(document, "workspace"));
        s.workspace_root = text(document, "workspace_root");
        s.image = text(document, "image");
        s.tier = (enum tier)tier_from_word(text(json_object_get(document, "network"), "tier"));
        cella_limits_default(&s.limits);
        limits_overlay(json_object_get(document, "limits"), &s.limits, NULL);
        s.sandboxes_max = (uint32_t)number(sandboxes, "max");
        s.kept_max = (uint32_t)number(sandboxes, "kept_max");
        s.idle_timeout_ms = number(sandboxes, "idle_timeout_ms");
        s.cleanup_interval_ms = number(sandboxes, "cleanup_interval_ms");
        s.queue_timeout_ms = number(sandboxes, "queue_timeout_ms");
        s.queue_max = (uint32_t)number(sandboxes, "queue_max");
        s.spare = (uint32_t)number(sandboxes, "spare");
        s.workspace_keep_ms = number(sandboxes, "workspace_keep_ms");
        s.packages_cache_bytes = number(json_object_get(document, "packages"), "cache_bytes");
        s.packages_index = text(json_object_get(document, "packages"), "index");
        s.learning_bytes = number(json_object_get(document, "learning"), "memory_bytes");
        s.audit_keep_days = (uint32_t)number(audit, "keep_days");
        s.audit_keep_bytes = number(audit, "keep_bytes");
        s.audit_keep_output = json_is_true(json_object_get(audit, "keep_output"));
        s.mcp_text_bytes = (uint32_t)number(json_object_get(document, "mcp"), "text_bytes");
        if (s.workspace != WORKSPACE_NONE && !s.workspace_root) {
                err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "workspace '%s' needs workspace_root",
                        workspace_words[s.workspace]);
                return err_hint(err, "set workspace_root to a directory with one directory for each agent");
        }
        *ret = s;
        return 0;
}

void settings_done(struct settings *settings)
{
        json_decref(settings->document);
        *settings = (struct settings){0};
}
