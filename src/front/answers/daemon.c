/* front/answers/daemon.c -- health, pools, keys (front/rest), images, runtimes, secrets, tools. */
#include "front/answers/answers.h"

#include "core/caller.h"
#include "core/settings/settings.h"

static const struct field word = {.name = "", .type = FIELD_STRING};

/* ---- errors ---- */

static const char *const error_words[] = {"invalid_request", "unauthorized",
                                          "access_denied",   "not_found",
                                          "too_large",       "runtime_not_found",
                                          "scan_refused",    "isolation_unavailable",
                                          "internal",        "engine_unavailable",
                                          "over_capacity",   "timeout",
                                          "conflict",        NULL};
static const struct field error_detail[] = {{"kind", FIELD_WORD, R, .words = error_words},
                                            {"message", FIELD_STRING, R, .help = "for people"},
                                            {"hint", FIELD_STRING, .help = "what to do; may be empty"},
                                            {0}};
static const struct field error_table[] = {{"error", FIELD_OBJECT, R, .fields = error_detail}, {0}};
static const struct kind kind_detail = {"ErrorDetail", error_detail};
const struct kind kind_error = {"Error", error_table,
                                .example = "{\"error\":{\"kind\":\"invalid_request\",\"message\":\"unknown "
                                           "field 'cod'\",\"hint\":\"did you mean 'code'?\"}}"};
const struct kind kind_any = {.name = NULL};

/* ---- health ---- */

static const struct field ready_table[] = {{"status", FIELD_STRING, R, .help = "ok, or unavailable"},
                                           {"error", FIELD_OBJECT, .fields = error_detail},
                                           {0}};
static const struct field native[] = {{"available", FIELD_BOOLEAN, R},
                                      {"layers", FIELD_ARRAY, R, .item = &word},
                                      {"missing", FIELD_ARRAY, R, .item = &word},
                                      {"users", FIELD_INTEGER},
                                      {"reason", FIELD_STRING, .help = "why it is not available"},
                                      {"hint", FIELD_STRING},
                                      {0}};
static const struct field docker[] = {{"available", FIELD_BOOLEAN, R},
                                      {"reason", FIELD_STRING, .help = "why it is not available"},
                                      {"hint", FIELD_STRING},
                                      {"name", FIELD_STRING, .help = "docker or podman"},
                                      {"version", FIELD_STRING},
                                      {"api", FIELD_STRING},
                                      {"socket", FIELD_STRING},
                                      {"runtime", FIELD_STRING},
                                      {"runtimes", FIELD_ARRAY, .item = &word},
                                      {"rootless", FIELD_BOOLEAN},
                                      {"cgroup", FIELD_INTEGER},
                                      {"warning", FIELD_STRING},
                                      {0}};
static const struct field engines[] = {
        {"native", FIELD_OBJECT, R, .fields = native}, {"docker", FIELD_OBJECT, R, .fields = docker}, {0}};
static const struct field module[] = {
        {"module", FIELD_STRING, R}, {"executions", FIELD_INTEGER, R}, {"import_ms", FIELD_NUMBER, R}, {0}};
static const struct field module_item = {.name = "", .type = FIELD_OBJECT, .fields = module};
static const char *const preload_words[] = {"auto", NULL};

static const struct field *pool_table(void)
{
        static struct field fields[] = {
                {"limits", FIELD_OBJECT, R},
                {"image", FIELD_STRING, R},
                {"runtime", FIELD_STRING, N, .help = "null: for any code"},
                {"lease", FIELD_BOOLEAN, R, .help = "for POST /v1/pools/acquire"},
                {"preload", FIELD_ARRAY, R, .item = &word, .words = preload_words},
                {"size", FIELD_INTEGER, R},
                {"idle_timeout_ms", FIELD_INTEGER, R, .help = "0: it is not emptied when it is not used"},
                {"waits", FIELD_STRING, R, .help = "what a sandbox of it waits with"},
                {"problem", FIELD_STRING, N},
                {"in_use", FIELD_INTEGER, R},
                {"total", FIELD_INTEGER},
                {"available", FIELD_INTEGER},
                {"making", FIELD_INTEGER},
                {"hits", FIELD_INTEGER},
                {"misses", FIELD_INTEGER},
                {"refill_ms", FIELD_NUMBER},
                {"hidden_modules", FIELD_ARRAY, .item = &word, .help = "what the template contains"},
                {"hidden_import_ms", FIELD_NUMBER, .help = "how long importing all of them took"},
                {"key", FIELD_STRING, FIELD_NULLABLE, .help = "of a pool that was learned"},
                {"learned", FIELD_ARRAY, .item = &module_item},
                {"executions", FIELD_INTEGER},
                {"saved_ms", FIELD_NUMBER},
                {"memory_bytes", FIELD_INTEGER},
                {0}};
        fields[0].fields = answer_limits();
        return fields;
}

static const struct field *pools_table(void)
{
        static struct field item = {.name = "", .type = FIELD_OBJECT};
        static const struct field fields[] = {{"pools", FIELD_ARRAY, R, .item = &item}, {0}};
        item.fields = pool_table();
        return fields;
}

static const struct field image_counts[] = {{"images", FIELD_INTEGER, R},
                                            {"bytes", FIELD_INTEGER, R},
                                            {"jobs", FIELD_INTEGER, .help = "pulls and imports at work"},
                                            {0}};
static const struct field sandbox_counts[] = {{"running", FIELD_INTEGER, R}, {"paused", FIELD_INTEGER, R},
                                              {"stopped", FIELD_INTEGER, R}, {"waiting", FIELD_INTEGER, R},
                                              {"max", FIELD_INTEGER, R},     {0}};
static const struct field disk[] = {{"free_bytes", FIELD_INTEGER, R}, {"total_bytes", FIELD_INTEGER, R}, {0}};

static const struct field *health_table(void)
{
        static struct field item = {.name = "", .type = FIELD_OBJECT};
        static const struct field fields[] = {{"status", FIELD_STRING, R, .help = "ok, or unavailable"},
                                              {"version", FIELD_STRING, R},
                                              {"engines", FIELD_OBJECT, R, .fields = engines},
                                              {"pools", FIELD_ARRAY, R, .item = &item},
                                              {"images", FIELD_OBJECT, R, .fields = image_counts},
                                              {"sandboxes", FIELD_OBJECT, R, .fields = sandbox_counts},
                                              {"uptime_ms", FIELD_INTEGER, R},
                                              {"disk", FIELD_OBJECT, FIELD_NULLABLE, .fields = disk},
                                              {0}};
        item.fields = pool_table();
        return fields;
}

static const struct field rates[] = {{"executions_per_second", FIELD_NUMBER, R},
                                     {"latency_p50_ms", FIELD_NUMBER, N},
                                     {"latency_p99_ms", FIELD_NUMBER, N},
                                     {"running", FIELD_INTEGER, R},
                                     {"waiting", FIELD_INTEGER, R},
                                     {0}};
static const struct field memory[] = {{"server_bytes", FIELD_INTEGER, N},
                                      {"total_bytes", FIELD_INTEGER, N},
                                      {"available_bytes", FIELD_INTEGER, N},
                                      {0}};

static const struct field *snapshot_table(void)
{
        static struct field fields[] = {{"health", FIELD_OBJECT, R},
                                        {"time", FIELD_STRING, R},
                                        {"rates", FIELD_OBJECT, R, .fields = rates},
                                        {"memory", FIELD_OBJECT, R, .fields = memory},
                                        {0}};
        fields[0].fields = health_table();
        return fields;
}

static const struct field *rows_table(void)
{
        static struct field item = {.name = "", .type = FIELD_OBJECT};
        static const struct field fields[] = {
                {"sandboxes", FIELD_ARRAY, R, .item = &item}, {"left_out", FIELD_INTEGER, R}, {0}};
        item.fields = kind_sandbox_row.fields();
        return fields;
}

static const struct field *ended_table(void)
{
        static struct field item = {.name = "", .type = FIELD_OBJECT};
        static const struct field fields[] = {
                {"executions", FIELD_ARRAY, R, .item = &item}, {"missed", FIELD_INTEGER, R}, {0}};
        item.fields = kind_summary.table;
        return fields;
}

static const struct field *history_table(void)
{
        static const struct field number = {.name = "", .type = FIELD_NUMBER},
                                  counter = {.name = "", .type = FIELD_INTEGER};
        static const struct field minute[] = {{"time", FIELD_STRING, R},
                                              {"executions", FIELD_INTEGER, R},
                                              {"latency", FIELD_ARRAY, R, .item = &counter},
                                              {"sandboxes", FIELD_INTEGER, R},
                                              {0}};
        static const struct field item = {.name = "", .type = FIELD_OBJECT, .fields = minute};
        static const struct field fields[] = {{"time", FIELD_STRING, R},
                                              {"bounds_ms", FIELD_ARRAY, R, .item = &number},
                                              {"minutes", FIELD_ARRAY, R, .item = &item},
                                              {0}};
        return fields;
}

static const struct field gone_table[] = {{"id", FIELD_STRING, R}, {0}};
static const struct kind kind_snapshot = {"Snapshot", .fields = snapshot_table},
                         kind_rows = {"SandboxRows", .fields = rows_table},
                         kind_ended_rows = {"EndedExecutions", .fields = ended_table},
                         kind_history = {"History", .fields = history_table},
                         kind_gone = {"Gone", gone_table};
const struct event watch_events[] = {{"snapshot", &kind_snapshot},
                                     {"sandboxes", &kind_rows},
                                     {"sandbox", &kind_sandbox_row},
                                     {"gone", &kind_gone},
                                     {"usage", &kind_any},
                                     {"history", &kind_history},
                                     {"executions", &kind_ended_rows},
                                     {"error", &kind_error},
                                     {0}};

/* ---- keys and settings ---- */

#define KEY                                                                                                  \
        {"name", FIELD_STRING, R}, {"capabilities", FIELD_ARRAY, R, .item = &word},                          \
                {"tier", FIELD_STRING, R, .help = "the highest network tier"}, {"limits", FIELD_OBJECT, R},  \
                {"secrets", FIELD_ARRAY, R, .item = &word}, {"sandboxes_max", FIELD_INTEGER, N},             \
        {                                                                                                    \
                "id", FIELD_STRING, R                                                                        \
        }

static const struct field *with_limits(struct field *fields)
{
        for (struct field *f = fields; f->name; f++)
                if (f->type == FIELD_OBJECT)
                        f->fields = limits_bare_fields();
        return fields;
}

static const struct field *key_table(void)
{
        static struct field fields[] = {KEY, {"created_ms", FIELD_INTEGER, R}, {0}};
        return with_limits(fields);
}

static const struct field *new_key_table(void)
{
        static struct field fields[] = {
                KEY, {"key", FIELD_STRING, R, .help = "the key itself: it is not shown again"}, {0}};
        return with_limits(fields);
}

static const struct field *keys_table(void)
{
        static struct field item = {.name = "", .type = FIELD_OBJECT};
        static const struct field fields[] = {{"keys", FIELD_ARRAY, R, .item = &item}, {0}};
        item.fields = key_table();
        return fields;
}

static const struct field *me_table(void)
{
        static struct field fields[] = {
                {"owner", FIELD_BOOLEAN, R},         {"key", FIELD_STRING, N, .help = "the id of the key"},
                {"name", FIELD_STRING, N},           {"capabilities", FIELD_ARRAY, R, .item = &word},
                {"tier", FIELD_STRING, R},           {"limits", FIELD_OBJECT, N},
                {"sandboxes_max", FIELD_INTEGER, N}, {0}};
        return with_limits(fields);
}

/* ---- images and runtimes ---- */

static const struct field runtime[] = {{"name", FIELD_STRING, R}, {"program", FIELD_STRING, R}, {0}};
static const struct field runtime_item = {.name = "", .type = FIELD_OBJECT, .fields = runtime};
#define CONFIG                                                                                               \
        {"cwd", FIELD_STRING, R}, {"user", FIELD_STRING, R}, {"uid", FIELD_INTEGER, R},                      \
        {                                                                                                    \
                "gid", FIELD_INTEGER, R                                                                      \
        }
#define IMAGE                                                                                                \
        {"id", FIELD_STRING, R}, {"digest", FIELD_STRING, N}, {"names", FIELD_ARRAY, R, .item = &word},      \
                {"created_ms", FIELD_INTEGER, R}, {"bytes", FIELD_INTEGER, R}, {"files", FIELD_INTEGER, R},  \
                {"platform", FIELD_STRING, R}, {"source", FIELD_STRING, R},                                  \
        {                                                                                                    \
                "runtimes", FIELD_ARRAY, R, .item = &runtime_item                                            \
        }
static const struct field brief_config[] = {CONFIG, {0}};
static const struct field config[] = {CONFIG,
                                      {"env", FIELD_ARRAY, R, .item = &word},
                                      {"entrypoint", FIELD_ARRAY, R, .item = &word},
                                      {"cmd", FIELD_ARRAY, R, .item = &word},
                                      {"labels", FIELD_MAP, R, .item = &word},
                                      {0}};
static const struct field brief_table[] = {IMAGE, {"config", FIELD_OBJECT, R, .fields = brief_config}, {0}};
static const struct field image_table[] = {
        IMAGE,
        {"layers", FIELD_ARRAY, R, .item = &word},
        {"config", FIELD_OBJECT, R, .fields = config},
        {"others", FIELD_ARRAY, .item = &word, .help = "ids of further images of the archive"},
        {0}};
static const struct field brief_item = {.name = "", .type = FIELD_OBJECT, .fields = brief_table};
static const struct field images_table[] = {{"images", FIELD_ARRAY, R, .item = &brief_item}, {0}};
static const struct field progress_table[] = {{"layer", FIELD_STRING, R},
                                              {"phase", FIELD_STRING, R},
                                              {"done", FIELD_INTEGER, R},
                                              {"total", FIELD_INTEGER, R, .help = "0: not known"},
                                              {0}};
static const struct kind kind_progress = {"Progress", progress_table};
static const struct field collected_table[] = {
        {"layers", FIELD_INTEGER, R}, {"roots", FIELD_INTEGER, R}, {"bytes", FIELD_INTEGER, R}, {0}};
static const struct field found[] = {
        {"name", FIELD_STRING, R}, {"image", FIELD_STRING, R}, {"program", FIELD_STRING, N}, {0}};
static const struct field found_item = {.name = "", .type = FIELD_OBJECT, .fields = found};
static const struct field setting = {.name = "", .type = FIELD_ANY};
static const struct field runtimes_table[] = {
        {"runtimes", FIELD_ARRAY, R, .item = &found_item},
        {"default_runtimes", FIELD_MAP, R, .item = &setting, .help = "as in the settings"},
        {"settings", FIELD_MAP, R, .item = &setting, .help = "runtimes, as in the settings"},
        {0}};
const struct event pull_events[] = {
        {"progress", &kind_progress}, {"done", &kind_image}, {"error", &kind_error}, {0}};

/* ---- secrets and tools ---- */

static const struct field secret_table[] = {
        {"name", FIELD_STRING, R}, {"created", FIELD_STRING, R}, {"changed", FIELD_STRING, R}, {0}};
static const struct field secret_item = {.name = "", .type = FIELD_OBJECT, .fields = secret_table};
static const struct field secrets_table[] = {{"secrets", FIELD_ARRAY, R, .item = &secret_item}, {0}};
static const struct field name_table[] = {{"name", FIELD_STRING, R}, {0}};
static const struct field schema = {.name = "", .type = FIELD_ANY};
static const struct field tool[] = {{"name", FIELD_STRING, R},
                                    {"title", FIELD_STRING, R},
                                    {"description", FIELD_STRING, R},
                                    {"input_schema", FIELD_MAP, R, .item = &schema},
                                    {"output_schema", FIELD_MAP, R, .item = &schema},
                                    {"cost", FIELD_NUMBER, R},
                                    {0}};
static const struct field tool_item = {.name = "", .type = FIELD_OBJECT, .fields = tool};
static const struct field tools_table[] = {{"tools", FIELD_ARRAY, R, .item = &tool_item}, {0}};
static const struct field function[] = {{"name", FIELD_STRING, R},
                                        {"description", FIELD_STRING, R},
                                        {"parameters", FIELD_MAP, R, .item = &schema},
                                        {0}};
static const struct field of_function[] = {
        {"type", FIELD_STRING, R}, {"function", FIELD_OBJECT, R, .fields = function}, {0}};
static const struct field function_item = {.name = "", .type = FIELD_OBJECT, .fields = of_function};
static const struct field functions_table[] = {{"tools", FIELD_ARRAY, R, .item = &function_item}, {0}};

const struct kind kind_ready = {"Ready", ready_table, .example = "{\"status\":\"ok\"}"},
                  kind_health = {"Health", .fields = health_table},
                  kind_pools = {"Pools", .fields = pools_table, .example = "{\"pools\":[]}"},
                  kind_me = {"Caller", .fields = me_table,
                             .example = "{\"owner\":true,\"key\":null,\"name\":null,\"capabilities\":"
                                        "[\"sandbox.exec\"],\"tier\":\"elevated\",\"limits\":null,"
                                        "\"sandboxes_max\":null}"},
                  kind_keys = {"Keys", .fields = keys_table, .example = "{\"keys\":[]}"},
                  kind_new_key = {"NewKey", .fields = new_key_table,
                                  .example = "{\"name\":\"ci\",\"capabilities\":[\"sandbox.exec\"],\"tier\":"
                                             "\"restricted\",\"limits\":{},\"secrets\":[],"
                                             "\"sandboxes_max\":null,\"id\":\"key_01k9qc5r3b2c1\",\"key\":"
                                             "\"cella_...\"}"},
                  kind_settings = {"Settings", .fields = settings_fields},
                  kind_image = {"Image", image_table},
                  kind_images = {"Images", images_table, .example = "{\"images\":[]}"},
                  kind_collected = {"Collected", collected_table,
                                    .example = "{\"layers\":2,\"roots\":1,\"bytes\":84211200}"},
                  kind_runtimes = {"Runtimes", runtimes_table,
                                   .example = "{\"runtimes\":[{\"name\":\"python3\",\"image\":\"host\","
                                              "\"program\":\"/usr/bin/python3\"}],\"default_runtimes\":"
                                              "{\"python\":\"python3\"},\"settings\":{}}"},
                  kind_secret = {"Secret", secret_table,
                                 .example = "{\"name\":\"token\",\"created\":\"2026-11-15T05:00:00.000Z\","
                                            "\"changed\":\"2026-11-15T05:00:00.000Z\"}"},
                  kind_secrets = {"Secrets", secrets_table, .example = "{\"secrets\":[]}"},
                  kind_secret_name = {"SecretName", name_table, .example = "{\"name\":\"token\"}"},
                  kind_tools = {"Tools", tools_table}, kind_functions = {"ToolFunctions", functions_table};

static const struct kind kind_pool = {"Pool", .fields = pool_table}, kind_key = {"Key", .fields = key_table},
                         kind_brief = {"ImageSummary", brief_table}, kind_found = {"Runtime", found},
                         kind_tool = {"Tool", tool};
const struct kind *const daemon_parts[] = {&kind_detail, &kind_pool,   &kind_key,   &kind_brief,  &kind_found,
                                           &kind_tool,   &kind_health, &kind_image, &kind_secret, NULL};
