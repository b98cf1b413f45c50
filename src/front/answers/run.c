/* front/answers/run.c -- what ran: results (engine/result.c), the log (audit/reader.c), processes, contexts.
 */
#include "front/answers/answers.h"

static const struct field answer_word = {.name = "", .type = FIELD_STRING};
static const char *const status_words[] = {"exited",       "signaled",    "timeout",   "memory_limit",
                                           "disk_limit",   "cpu_limit",   "cancelled", "process_limit",
                                           "output_limit", "interrupted", NULL};

static const struct field network[] = {
        {"connections", FIELD_INTEGER, R},    {"refused", FIELD_INTEGER, R}, {"bytes_sent", FIELD_INTEGER, R},
        {"bytes_received", FIELD_INTEGER, R}, {"lookups", FIELD_INTEGER, R}, {0}};
static const struct field usage[] = {
        {"cpu_ms", FIELD_NUMBER, R},
        {"memory_peak_bytes", FIELD_INTEGER, N, .help = "null: not counted on this host"},
        {"processes_peak", FIELD_INTEGER, N, .help = "null: not counted on this host"},
        {"network", FIELD_OBJECT, FIELD_NULLABLE, .fields = network, .help = "of a sandbox with a network"},
        {0}};
static const struct field value[] = {
        {"mime", FIELD_STRING, R},
        {"data", FIELD_STRING, R, .help = "text, or base64 of a picture"},
        {"main", FIELD_BOOLEAN, R, .help = "it is the value of the last expression"},
        {"value", FIELD_INTEGER, N, .help = "different forms of one value have the same number"},
        {"path", FIELD_STRING, .help = "the file that contains the picture"},
        {0}};
static const struct field exception[] = {
        {"name", FIELD_STRING, R}, {"message", FIELD_STRING, R}, {"traceback", FIELD_STRING, R}, {0}};
static const struct field file[] = {{"path", FIELD_STRING, R},
                                    {"change", FIELD_STRING, R, .help = "created or modified, for example"},
                                    {"bytes", FIELD_INTEGER, R},
                                    {0}};
static const struct field violation[] = {
        {"kind", FIELD_STRING, R}, {"target", FIELD_STRING, R}, {"detail", FIELD_STRING, R}, {0}};
static const struct field isolation[] = {
        {"engine", FIELD_STRING, R, .help = "native, docker, podman, or host: no sandbox"},
        {"layers", FIELD_ARRAY, R, .item = &answer_word, .help = "what separates the code from the host"},
        {"missing", FIELD_ARRAY, R, .item = &answer_word, .help = "layers and limits that this host lacks"},
        {"users", FIELD_INTEGER, .help = "65536, if root can use other users"},
        {"reason", FIELD_STRING, .help = "why it ran in a sandbox, or on the host"},
        {0}};
static const struct field finding[] = {{"rule", FIELD_STRING, R},
                                       {"severity", FIELD_STRING, R},
                                       {"category", FIELD_STRING, R},
                                       {"line", FIELD_INTEGER, R},
                                       {"column", FIELD_INTEGER, R},
                                       {"text", FIELD_STRING, R},
                                       {0}};
static const struct field finding_item = {.name = "", .type = FIELD_OBJECT, .fields = finding};
static const struct field scan[] = {{"language", FIELD_STRING, R},
                                    {"verdict", FIELD_ARRAY, R, .item = &answer_word},
                                    {"severity", FIELD_STRING, R},
                                    {"findings", FIELD_ARRAY, R, .item = &finding_item},
                                    {"more", FIELD_BOOLEAN, R, .help = "there were more findings"},
                                    {"skipped", FIELD_STRING, .help = "why it was not scanned"},
                                    {0}};
static const struct field value_item = {.name = "", .type = FIELD_OBJECT, .fields = value},
                          file_item = {.name = "", .type = FIELD_OBJECT, .fields = file},
                          violation_item = {.name = "", .type = FIELD_OBJECT, .fields = violation};

#define RESULT_HEAD                                                                                          \
        {"id", FIELD_STRING, R, .help = "the id of the execution"}, {"sandbox", FIELD_STRING, R},            \
                {"runtime", FIELD_STRING, N, .help = "null: a command"},                                     \
                {"status", FIELD_WORD, R, .words = status_words, .help = "why it ended"},                    \
                {"exit_code", FIELD_INTEGER, R, .help = "the code's own; 128+N after signal N"},             \
                {"signal", FIELD_INTEGER, N},                                                                \
        {                                                                                                    \
                "timed_out", FIELD_BOOLEAN, R                                                                \
        }
#define RESULT_REST                                                                                          \
        {"stdout_truncated", FIELD_BOOLEAN, R}, {"stderr_truncated", FIELD_BOOLEAN, R},                      \
                {"stdout_bytes", FIELD_INTEGER, R, .help = "written by the code"},                           \
                {"stderr_bytes", FIELD_INTEGER, R}, {"duration_ms", FIELD_NUMBER, R},                        \
                {"usage", FIELD_OBJECT, R, .fields = usage},                                                 \
                {"results", FIELD_ARRAY, R, .item = &value_item,                                             \
                 .help = "values, with rich or in a context"},                                               \
                {"results_truncated", FIELD_BOOLEAN},                                                        \
                {"context", FIELD_STRING, FIELD_NULLABLE, .help = "the context that it ran in"},             \
                {"error", FIELD_OBJECT, FIELD_NULLABLE, .fields = exception,                                 \
                 .help = "the uncaught exception of a run in a context"},                                    \
                {"files", FIELD_ARRAY, R, .item = &file_item, .help = "changed files, with list_files"},     \
                {"files_truncated", FIELD_BOOLEAN},                                                          \
                {"violations", FIELD_ARRAY, R, .item = &violation_item, .help = "refused operations"},       \
                {"isolation", FIELD_OBJECT, R, .fields = isolation},                                         \
                {"hint", FIELD_STRING, N, .help = "what to do, if a limit or a missing module ended it"},    \
                {"scan", FIELD_OBJECT, .fields = scan, .help = "the report of the scanner"},                 \
        {                                                                                                    \
                "cost", FIELD_NUMBER, R                                                                      \
        }

static const struct field result_table[] = {RESULT_HEAD,
                                            {"stdout", FIELD_STRING, R, .help = "base64 if asked for"},
                                            {"stderr", FIELD_STRING, R},
                                            RESULT_REST,
                                            {0}};
static const struct field end_table[] = {RESULT_HEAD, RESULT_REST, {0}};

#define RESULT_EXAMPLE(output)                                                                               \
        "{\"id\":\"exe_01k9qc5r2e8m4\",\"sandbox\":\"sbx_01k9qc5r1x7a0\",\"runtime\":\"python3\","           \
        "\"status\":\"exited\",\"exit_code\":0,\"signal\":null,\"timed_out\":false," output                  \
        "\"stdout_truncated\":false,\"stderr_truncated\":false,\"stdout_bytes\":3,\"stderr_bytes\":0,"       \
        "\"duration_ms\":9.1,\"usage\":{\"cpu_ms\":7.4,\"memory_peak_bytes\":6406144,\"processes_peak\":1}," \
        "\"results\":[],\"files\":[],\"violations\":[],\"isolation\":{\"engine\":\"native\",\"layers\":["    \
        "\"user\",\"pid\",\"mount\",\"net\",\"ipc\",\"uts\",\"cgroup\",\"seccomp\",\"landlock\"],"           \
        "\"missing\":[]},\"hint\":null,\"cost\":1.0}"
const struct kind kind_result = {"Result", result_table,
                                 .example = RESULT_EXAMPLE("\"stdout\":\"42\\n\",\"stderr\":\"\",")},
                  kind_end = {"ResultWithoutOutput", end_table};

/* ---- events ---- */

static const struct field start_table[] = {{"id", FIELD_STRING, R},
                                           {"sandbox", FIELD_STRING, R},
                                           {"context", FIELD_STRING},
                                           {"pid", FIELD_INTEGER, R},
                                           {0}};
static const struct field chunk_table[] = {
        {"text", FIELD_STRING, .help = "a part of the output"},
        {"base64", FIELD_STRING, .help = "instead of text, with encoding base64"},
        {0}};
static const struct field lost_table[] = {
        {"stream", FIELD_STRING, R}, {"bytes", FIELD_INTEGER, R, .help = "that were not kept"}, {0}};
static const struct kind kind_start = {"Start", start_table}, kind_chunk = {"OutputChunk", chunk_table},
                         kind_value = {"Value", value}, kind_violation = {"Violation", violation},
                         kind_lost = {"LostOutput", lost_table};

const struct event run_events[] = {{"start", &kind_start},         {"stdout", &kind_chunk},
                                   {"stderr", &kind_chunk},        {"result", &kind_value},
                                   {"violation", &kind_violation}, {"exit", &kind_end},
                                   {"error", &kind_error},         {0}};
const struct event process_events[] = {{"start", &kind_start},         {"stdout", &kind_chunk},
                                       {"stderr", &kind_chunk},        {"lost", &kind_lost},
                                       {"violation", &kind_violation}, {"exit", &kind_process},
                                       {"error", &kind_error},         {0}};

/* ---- executions and the log ---- */

static const struct field accepted_table[] = {{"id", FIELD_STRING, R, .help = "for GET /v1/executions/{id}"},
                                              {"sandbox", FIELD_STRING, R},
                                              {"context", FIELD_STRING},
                                              {"status", FIELD_STRING, R, .help = "running"},
                                              {0}};
static const struct field ended_table[] = {{"id", FIELD_STRING, R}, {"status", FIELD_STRING, R}, {0}};
static const struct field running_table[] = {{"id", FIELD_STRING, R},
                                             {"sandbox", FIELD_STRING, R},
                                             {"context", FIELD_STRING},
                                             {"mode", FIELD_STRING, .help = "sandbox or host"},
                                             {"image", FIELD_STRING},
                                             {"key_name", FIELD_STRING, FIELD_NULLABLE},
                                             {"runtime", FIELD_STRING, N},
                                             {"command", FIELD_ARRAY, N, .item = &answer_word},
                                             {"status", FIELD_STRING, R, .help = "running"},
                                             {"session", FIELD_STRING, N},
                                             {"agent", FIELD_STRING, N},
                                             {"key", FIELD_STRING, N},
                                             {"started", FIELD_STRING, R},
                                             {0}};

static const struct field row_usage[] = {{"cpu_ms", FIELD_NUMBER, R},
                                         {"memory_peak_bytes", FIELD_INTEGER, N},
                                         {"processes_peak", FIELD_INTEGER, N},
                                         {0}};
static const struct field row_error[] = {{"kind", FIELD_STRING, R}, {"message", FIELD_STRING, R}, {0}};
static const struct field word_list[] = {
        {"count", FIELD_INTEGER, R}, {"list", FIELD_ARRAY, R, .item = &answer_word}, {0}};
static const struct field hashed[] = {{"bytes", FIELD_INTEGER, R}, {"hash", FIELD_STRING}, {0}};
static const struct field input_file[] = {
        {"path", FIELD_STRING, R}, {"bytes", FIELD_INTEGER, R}, {"hash", FIELD_STRING}, {0}};
static const struct field input_file_item = {.name = "", .type = FIELD_OBJECT, .fields = input_file};
static const struct field input_files[] = {{"count", FIELD_INTEGER, R},
                                           {"bytes", FIELD_INTEGER, R},
                                           {"list", FIELD_ARRAY, R, .item = &input_file_item},
                                           {0}};
static const struct field row_finding[] = {{"rule", FIELD_STRING, R},
                                           {"severity", FIELD_STRING, R},
                                           {"line", FIELD_INTEGER, R},
                                           {"text", FIELD_STRING, R},
                                           {0}};
static const struct field row_finding_item = {.name = "", .type = FIELD_OBJECT, .fields = row_finding};
static const struct field row_scan[] = {{"severity", FIELD_STRING, R},
                                        {"count", FIELD_INTEGER, R},
                                        {"skipped", FIELD_STRING},
                                        {"findings", FIELD_ARRAY, R, .item = &row_finding_item},
                                        {0}};

#define SUMMARY                                                                                              \
        {"id", FIELD_STRING, R}, {"sandbox", FIELD_STRING, N}, {"runtime", FIELD_STRING, N},                 \
                {"session", FIELD_STRING, N}, {"agent", FIELD_STRING, N}, {"key", FIELD_STRING, N},          \
                {"started", FIELD_STRING, N}, {"finished", FIELD_STRING, N},                                 \
                {"status", FIELD_STRING, R, .help = "as in a result; or running, refused, lost"},            \
                {"exit_code", FIELD_INTEGER, N}, {"signal", FIELD_INTEGER, N},                               \
                {"timed_out", FIELD_BOOLEAN, R}, {"input_bytes", FIELD_INTEGER, N},                          \
                {"stdout_bytes", FIELD_INTEGER, N}, {"stderr_bytes", FIELD_INTEGER, N},                      \
                {"duration_ms", FIELD_NUMBER, R}, {"usage", FIELD_OBJECT, R, .fields = row_usage},           \
                {"mode", FIELD_STRING, N, .help = "sandbox or host"}, {"engine", FIELD_STRING, N},           \
                {"image", FIELD_STRING, N}, {"tier", FIELD_STRING, N}, {"key_name", FIELD_STRING, N},        \
        {                                                                                                    \
                "error", FIELD_OBJECT, N, .fields = row_error, .help = "why it did not run"                  \
        }

static const struct field execution_table[] = {
        SUMMARY,
        {"input", FIELD_STRING, N, .help = "the code, or the command"},
        {"stdout", FIELD_STRING, N},
        {"stderr", FIELD_STRING, N},
        {"input_truncated", FIELD_BOOLEAN, R},
        {"stdout_truncated", FIELD_BOOLEAN, R},
        {"stderr_truncated", FIELD_BOOLEAN, R},
        {"violations", FIELD_ARRAY, R, .item = &violation_item},
        {"row", FIELD_INTEGER, N, .help = "its number in the log"},
        {"hash", FIELD_STRING, R, .help = "of this row and all before it"},
        {"reason", FIELD_STRING, N, .help = "why it ran in a sandbox, or on the host"},
        {"args", FIELD_OBJECT, N, .fields = word_list},
        {"cwd", FIELD_STRING, N},
        {"stdin", FIELD_OBJECT, N, .fields = hashed},
        {"input_files", FIELD_OBJECT, N, .fields = input_files},
        {"env_names", FIELD_OBJECT, N, .fields = word_list},
        {"scan", FIELD_OBJECT, N, .fields = row_scan},
        {"unrecorded", FIELD_INTEGER, N, .help = "refused requests before this one that the log omits"},
        {"traceparent", FIELD_STRING, N, .help = "trace context of the request"},
        {0}};
/* In a list: also executions that still run, which have fewer fields. */
static const struct field listed_table[] = {
        {"id", FIELD_STRING, R},
        {"sandbox", FIELD_STRING, N},
        {"runtime", FIELD_STRING, N},
        {"command", FIELD_ARRAY, FIELD_NULLABLE, .item = &answer_word, .help = "while it runs"},
        {"context", FIELD_STRING, .help = "while it runs"},
        {"preview", FIELD_STRING, FIELD_NULLABLE, .help = "the beginning of the code or the command"},
        {"session", FIELD_STRING, N},
        {"agent", FIELD_STRING, N},
        {"key", FIELD_STRING, N},
        {"key_name", FIELD_STRING, FIELD_NULLABLE},
        {"started", FIELD_STRING, N},
        {"status", FIELD_STRING, R, .help = "as in a result; or running, refused, lost"},
        {"finished", FIELD_STRING, FIELD_NULLABLE},
        {"exit_code", FIELD_INTEGER, FIELD_NULLABLE},
        {"signal", FIELD_INTEGER, FIELD_NULLABLE},
        {"timed_out", FIELD_BOOLEAN},
        {"input_bytes", FIELD_INTEGER, FIELD_NULLABLE},
        {"stdout_bytes", FIELD_INTEGER, FIELD_NULLABLE},
        {"stderr_bytes", FIELD_INTEGER, FIELD_NULLABLE},
        {"duration_ms", FIELD_NUMBER},
        {"usage", FIELD_OBJECT, .fields = row_usage},
        {"mode", FIELD_STRING, FIELD_NULLABLE, .help = "sandbox or host"},
        {"engine", FIELD_STRING, FIELD_NULLABLE},
        {"image", FIELD_STRING, FIELD_NULLABLE},
        {"tier", FIELD_STRING, FIELD_NULLABLE},
        {"error", FIELD_OBJECT, FIELD_NULLABLE, .fields = row_error, .help = "why it did not run"},
        {0}};
static const struct field listed_item = {.name = "", .type = FIELD_OBJECT, .fields = listed_table};
static const struct field executions_table[] = {
        {"executions", FIELD_ARRAY, R, .item = &listed_item},
        {"cursor", FIELD_STRING, N, .help = "for the next page; null: there is none"},
        {"searched", FIELD_STRING, FIELD_NULLABLE, .help = "the search stopped at this time: continue it"},
        {0}};
static const struct field verdict_table[] = {{"rows", FIELD_INTEGER, R},
                                             {"ok", FIELD_BOOLEAN, R},
                                             {"last", FIELD_INTEGER, .help = "number of the last row"},
                                             {"hash", FIELD_STRING, .help = "of the last row"},
                                             {"first_bad", FIELD_INTEGER, .help = "number of a changed row"},
                                             {"why", FIELD_STRING},
                                             {0}};

const struct kind
        kind_accepted = {"Accepted", accepted_table,
                         .example = "{\"id\":\"exe_01k9qc5r2e8m4\",\"sandbox\":\"sbx_01k9qc5r1x7a0\","
                                    "\"status\":\"running\"}"},
        kind_ended = {"ExecutionStatus", ended_table,
                      .example = "{\"id\":\"exe_01k9qc5r2e8m4\",\"status\":\"cancelled\"}"},
        kind_running = {"RunningExecution", running_table,
                        .example = "{\"id\":\"exe_01k9qc5r2e8m4\",\"status\":\"running\"}"},
        kind_execution = {"Execution", execution_table,
                          .example = "{\"id\":\"exe_01k9qc5r2e8m4\",\"status\":\"exited\",\"exit_code\":0}"},
        kind_summary = {"ListedExecution", listed_table},
        kind_executions = {"Executions", executions_table, .example = "{\"executions\":[],\"cursor\":null}"},
        kind_verdict = {"LogVerdict", verdict_table,
                        .example = "{\"rows\":2,\"ok\":true,\"last\":2,\"hash\":\"9f2c\"}"};

/* ---- background processes and contexts ---- */

static const struct field process_table[] = {
        {"pid", FIELD_INTEGER, R},
        {"id", FIELD_STRING, R, .help = "the id of the execution"},
        {"state", FIELD_WORD, R, .words = (const char *const[]){"running", "exited", NULL}},
        {"runtime", FIELD_STRING, N},
        {"command", FIELD_ARRAY, N, .item = &answer_word},
        {"started", FIELD_STRING, R},
        {"status", FIELD_WORD, .words = status_words, .help = "if it has exited"},
        {"exit_code", FIELD_INTEGER},
        {"signal", FIELD_INTEGER, FIELD_NULLABLE},
        {0}};
static const struct field process_item = {.name = "", .type = FIELD_OBJECT, .fields = process_table};
static const struct field processes_table[] = {{"processes", FIELD_ARRAY, R, .item = &process_item}, {0}};
static const struct field output_table[] = {
        {"stdout", FIELD_STRING, R},
        {"stdout_offset", FIELD_INTEGER, R, .help = "for the next request"},
        {"stdout_lost", FIELD_INTEGER, R, .help = "bytes that were not kept"},
        {"stderr", FIELD_STRING, R},
        {"stderr_offset", FIELD_INTEGER, R},
        {"stderr_lost", FIELD_INTEGER, R},
        {"running", FIELD_BOOLEAN, R},
        {"exit_code", FIELD_INTEGER, N},
        {0}};
static const struct field taken_table[] = {{"bytes", FIELD_INTEGER, R}, {0}};
static const struct field context_table[] = {
        {"id", FIELD_STRING, R},
        {"sandbox", FIELD_STRING, R},
        {"runtime", FIELD_STRING, R},
        {"state", FIELD_STRING, R, .help = "starting, idle, busy or dead"},
        {"reason", FIELD_STRING, N, .help = "why it is dead"},
        {"pid", FIELD_INTEGER, N},
        {"execution", FIELD_STRING, N, .help = "that runs in it"},
        {"runs", FIELD_INTEGER, R},
        {"created", FIELD_STRING, R},
        {0}};
static const struct field context_item = {.name = "", .type = FIELD_OBJECT, .fields = context_table};
static const struct field contexts_table[] = {{"contexts", FIELD_ARRAY, R, .item = &context_item}, {0}};

#define PROCESS                                                                                              \
        "{\"pid\":3,\"id\":\"exe_01k9qc5r2e8m4\",\"state\":\"running\",\"runtime\":null,\"command\":"        \
        "[\"python3\",\"-m\",\"http.server\"],\"started\":\"2026-11-15T05:00:00.000Z\"}"
#define CONTEXT                                                                                              \
        "{\"id\":\"ctx_01k9qc5r3b2c1\",\"sandbox\":\"sbx_01k9qc5r1x7a0\",\"runtime\":\"python3\","           \
        "\"state\":\"idle\",\"reason\":null,\"pid\":4,\"execution\":null,\"runs\":0,"                        \
        "\"created\":\"2026-11-15T05:00:00.000Z\"}"
const struct kind kind_process = {"Process", process_table, .example = PROCESS},
                  kind_processes = {"Processes", processes_table, .example = "{\"processes\":[" PROCESS "]}"},
                  kind_output = {"Output", output_table,
                                 .example = "{\"stdout\":\"ready\\n\",\"stdout_offset\":6,\"stdout_lost\":0,"
                                            "\"stderr\":\"\",\"stderr_offset\":0,\"stderr_lost\":0,"
                                            "\"running\":true,\"exit_code\":null}"},
                  kind_taken = {"BytesTaken", taken_table, .example = "{\"bytes\":6}"},
                  kind_context = {"Context", context_table, .example = CONTEXT},
                  kind_contexts = {"Contexts", contexts_table, .example = "{\"contexts\":[" CONTEXT "]}"};

static const struct kind kind_usage = {"Usage", usage}, kind_network = {"NetworkUsage", network},
                         kind_exception = {"Exception", exception}, kind_file = {"ChangedFile", file},
                         kind_isolation = {"Isolation", isolation}, kind_finding = {"Finding", finding},
                         kind_scan = {"ScanReport", scan};
const struct kind *const run_parts[] = {&kind_usage,   &kind_network,   &kind_exception, &kind_file,
                                        &kind_scan,    &kind_isolation, &kind_violation, &kind_value,
                                        &kind_finding, &kind_process,   &kind_context,   &kind_summary,
                                        NULL};
