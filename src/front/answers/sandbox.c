/* front/answers/sandbox.c -- sandboxes (core/sandbox/registry.c) and their files (front/rest/files.c). */
#include "front/answers/answers.h"

#include <string.h>

#include "core/settings/settings.h"

static const struct field word = {.name = "", .type = FIELD_STRING};

/* The limits of a sandbox: all of them, without the ranges that a request must keep. */
const struct field *answer_limits(void)
{
        static struct field fields[32];
        const struct field *from = limits_bare_fields();
        for (size_t i = 0; from[i].name && i + 1 < sizeof fields / sizeof *fields; i++) {
                fields[i] = from[i];
                fields[i].min = fields[i].max = 0;
                fields[i].flags |= FIELD_REQUIRED;
        }
        return fields;
}

static const char *const states[] = {"running", "paused", "stopped", NULL};
static const char *const tiers[] = {"restricted", "standard", "elevated", NULL};

static const struct field network[] = {{"tier", FIELD_WORD, R, .words = tiers},
                                       {"allowed_domains", FIELD_ARRAY, .item = &word},
                                       {"blocked_domains", FIELD_ARRAY, .item = &word},
                                       {0}};
static const struct field mount[] = {
        {"name", FIELD_STRING, R}, {"target", FIELD_STRING, R}, {"mode", FIELD_STRING, R}, {0}};
static const struct field mount_item = {.name = "", .type = FIELD_OBJECT, .fields = mount};
static const struct field isolation[] = {
        {"engine", FIELD_STRING, R, .help = "native, docker or podman"},
        {"layers", FIELD_ARRAY, R, .item = &word, .help = "what separates the code from the host"},
        {"missing", FIELD_ARRAY, R, .item = &word, .help = "layers and limits that this host lacks"},
        {"users", FIELD_INTEGER, .help = "65536, if root can use other users"},
        {0}};
static const struct field counters[] = {{"cpu_ms", FIELD_NUMBER, N, .help = "null: not counted on this host"},
                                        {"memory_bytes", FIELD_INTEGER, N},
                                        {"memory_peak_bytes", FIELD_INTEGER, N},
                                        {"processes", FIELD_INTEGER, N},
                                        {0}};

#define SANDBOX                                                                                              \
        {"id", FIELD_STRING, R}, {"name", FIELD_STRING, N}, {"state", FIELD_WORD, R, .words = states},       \
                {"image", FIELD_STRING, R},                                                                  \
                {"scope", FIELD_STRING, N, .help = "null: a request created it"},                            \
                {"session", FIELD_STRING, N}, {"agent", FIELD_STRING, N},                                    \
                {"key", FIELD_STRING, N, .help = "id of the key that it belongs to; null: the owner"},       \
                {"created", FIELD_STRING, R}, {"expires", FIELD_STRING, N},                                  \
                {"idle_timeout_ms", FIELD_INTEGER, R}, {"ttl_ms", FIELD_INTEGER, N},                         \
                {"limits", FIELD_OBJECT, R}, {"workspace", FIELD_STRING, R},                                 \
                {"persistent", FIELD_BOOLEAN, R}, {"executions", FIELD_INTEGER, R},                          \
                {"processes", FIELD_INTEGER, R, .help = "running in the background"},                        \
        {                                                                                                    \
                "mounts", FIELD_ARRAY, R, .item = &mount_item                                                \
        }

static const struct field *with_limits(struct field *fields)
{
        for (struct field *f = fields; f->name; f++)
                if (!strcmp(f->name, "limits"))
                        f->fields = answer_limits();
        return fields;
}

static const struct field *sandbox_table(void)
{
        static struct field fields[] = {
                SANDBOX,
                {"metadata", FIELD_MAP, R, .item = &word},
                {"network", FIELD_OBJECT, R, .fields = network},
                {"isolation", FIELD_OBJECT, .fields = isolation, .help = "if it has processes"},
                {"usage", FIELD_OBJECT, .fields = counters, .help = "in the answer about one sandbox"},
                {0}};
        return with_limits(fields);
}

static const struct field *row_table(void)
{
        static struct field fields[] = {
                SANDBOX,
                {"metadata", FIELD_MAP, R, .item = &word, .help = "those that fit into 200 bytes"},
                {0}};
        return with_limits(fields);
}

static const struct field *sandboxes_table(void)
{
        static struct field item = {.name = "", .type = FIELD_OBJECT};
        static const struct field fields[] = {{"sandboxes", FIELD_ARRAY, R, .item = &item}, {0}};
        item.fields = sandbox_table();
        return fields;
}

const struct kind kind_sandbox = {"Sandbox", .fields = sandbox_table,
                                  .example = "{\"id\":\"sbx_01k9qc5r1x7a0\",\"state\":\"running\",\"image\":"
                                             "\"host\",\"created\":\"2026-11-15T05:00:00.000Z\","
                                             "\"idle_timeout_ms\":1800000,\"metadata\":{\"task\":\"17\"},"
                                             "\"workspace\":\"none\",\"persistent\":true}"},
                  kind_sandbox_row = {"SandboxRow", .fields = row_table},
                  kind_sandboxes = {"Sandboxes", .fields = sandboxes_table, .example = "{\"sandboxes\":[]}"},
                  kind_counters = {"SandboxUsage", counters};

/* ---- files ---- */

#define FILE_FIELDS                                                                                          \
        {"type", FIELD_STRING, R, .help = "file, directory, link, or another type"},                         \
                {"bytes", FIELD_INTEGER, R}, {"mode", FIELD_STRING, R, .help = "octal, as in chmod"},        \
        {                                                                                                    \
                "modified", FIELD_STRING, R                                                                  \
        }

static const struct field stat_table[] = {{"path", FIELD_STRING, R},
                                          FILE_FIELDS,
                                          {"target", FIELD_STRING, N, .help = "of a symbolic link"},
                                          {0}};
static const struct field entry_table[] = {{"name", FIELD_STRING, R}, FILE_FIELDS, {0}};
static const struct field entry_item = {.name = "", .type = FIELD_OBJECT, .fields = entry_table};
static const struct field directory_table[] = {{"path", FIELD_STRING, R},
                                               {"entries", FIELD_ARRAY, R, .item = &entry_item},
                                               {"truncated", FIELD_BOOLEAN, R, .help = "there are more"},
                                               {0}};
static const struct field path_table[] = {{"path", FIELD_STRING, R}, {0}};
static const struct field changed_table[] = {{"path", FIELD_STRING, R}, {"type", FIELD_STRING, R}, {0}};
static const struct kind kind_changed = {"FileChange", changed_table},
                         kind_entry = {"FileEntry", entry_table};

const struct kind kind_stat = {"FileStat", stat_table,
                               .example = "{\"path\":\"/workspace/a.txt\",\"type\":\"file\",\"bytes\":3,"
                                          "\"mode\":\"0644\",\"modified\":\"2026-11-15T05:00:00.000Z\","
                                          "\"target\":null}"},
                  kind_directory = {"Directory", directory_table,
                                    .example =
                                            "{\"path\":\"/workspace\",\"entries\":[],\"truncated\":false}"},
                  kind_path = {"Path", path_table, .example = "{\"path\":\"/workspace\"}"};
const struct event file_events[] = {{"start", &kind_path},       {"created", &kind_changed},
                                    {"modified", &kind_changed}, {"removed", &kind_changed},
                                    {"moved", &kind_changed},    {"lost", &kind_changed},
                                    {"error", &kind_error},      {0}};

static const struct kind kind_limits = {"Limits", .fields = limits_bare_fields},
                         kind_effective = {"EffectiveLimits", .fields = answer_limits},
                         kind_network = {"SandboxNetwork", network}, kind_mount = {"SandboxMount", mount},
                         kind_isolation = {"SandboxIsolation", isolation};
const struct kind *const sandbox_parts[] = {
        &kind_sandbox,   &kind_limits,   &kind_effective, &kind_network,     &kind_mount,
        &kind_isolation, &kind_counters, &kind_entry,     &kind_sandbox_row, NULL};
