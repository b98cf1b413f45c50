/* front/routes.c -- the table of all routes.  The server, its checks and /openapi.json read it. */
#include "front/routes.h"

#include "base/auto.h"
#include "core/request/request.h"
#include "front/answers/answers.h"
#include "front/mcp/mcp.h"
#include "front/rest/rest.h"
#include "front/tools/http.h"
#include "front/web/web.h"

#define SANDBOX "/v1/sandboxes/{id}"
#define PROCESS SANDBOX "/processes/{pid}"
#define CONTEXT SANDBOX "/contexts/{context}"
#define SECRET "/v1/secrets/{name}"
#define IMAGE "/v1/images/{name}" /* slashes and colons in it are %2F and %3A */
#define ANY_SIZE ((size_t)1 << 50)

/* ---- parameters of the query ---- */

#define PATH_PARAMETER                                                                                       \
        {                                                                                                    \
                "path", FIELD_STRING, FIELD_REQUIRED, .help = "in the sandbox; relative to /workspace"       \
        }

static const char *const formats[] = {"cella", "openai", NULL};
static const char *const sandbox_states[] = {"running", "paused", "stopped", NULL};
static const struct field of_settings[] = {{"check", FIELD_BOOLEAN, .help = "only check the settings"}, {0}};
static const struct field of_sandboxes[] = {
        {"state", FIELD_WORD, .words = sandbox_states},
        {"metadata.*", FIELD_STRING, .help = "metadata.NAME=VALUE: those with this label"},
        {0}};
static const struct field of_stdin[] = {{"eof", FIELD_BOOLEAN, .help = "close it afterwards"}, {0}};
static const struct field of_output[] = {
        {"stdout", FIELD_INTEGER, .max = INT64_MAX, .help = "offset of the first byte"},
        {"stderr", FIELD_INTEGER, .max = INT64_MAX, .help = "offset of the first byte"},
        {0}};
static const struct field of_path[] = {PATH_PARAMETER, {0}};
static const struct field of_read[] = {
        PATH_PARAMETER,
        {"list", FIELD_BOOLEAN, .help = "the entries of a directory, as JSON"},
        {"watch", FIELD_BOOLEAN, .help = "changes, as events"},
        {"recursive", FIELD_BOOLEAN, .help = "with watch: also of directories below"},
        {0}};
static const struct field of_write[] = {PATH_PARAMETER,
                                        {"mode", FIELD_STRING, .help = "octal, as in chmod"},
                                        {"parents", FIELD_BOOLEAN, .help = "create missing directories"},
                                        {0}};
static const struct field of_delete[] = {
        PATH_PARAMETER, {"recursive", FIELD_BOOLEAN, .help = "a directory with its contents"}, {0}};
static const struct field of_terminal[] = {{"cols", FIELD_INTEGER, .min = 1, .max = 65535},
                                           {"rows", FIELD_INTEGER, .min = 1, .max = 65535},
                                           {"command", FIELD_STRING, .help = "words; a shell by default"},
                                           {0}};
#define LOG_PARAMETERS                                                                                       \
        {"sandbox", FIELD_STRING}, {"session", FIELD_STRING}, {"agent", FIELD_STRING},                       \
                {"status", FIELD_STRING, .help = "one or more, separated by commas"},                        \
        {                                                                                                    \
                "text", FIELD_STRING, .help = "part of the code, the output or an error"                     \
        }
static const struct field of_events[] = {
        {"topics", FIELD_STRING, .help = "separated by commas: monitor, executions"}, LOG_PARAMETERS, {0}};
static const struct field of_executions[] = {
        LOG_PARAMETERS,
        {"since", FIELD_STRING, .help = "a time like 2026-11-15T05:00:00Z, or milliseconds since 1970"},
        {"limit", FIELD_INTEGER, .min = 1, .max = 1000, .standard = "100"},
        {"cursor", FIELD_STRING, .help = "from the answer before"},
        {0}};
static const struct field of_tools[] = {{"format", FIELD_WORD, .words = formats, .standard = "\"cella\""},
                                        {0}};
static const struct field of_import[] = {{"name", FIELD_STRING, .help = "for the image"}, {0}};
static const struct field of_runtimes[] = {{"image", FIELD_STRING, .help = "only those of this image"}, {0}};

/* ---- answers ---- */

#define JSON(of, about_) static const struct answer answer_##of[] = {{200, about_, &kind_##of}, {0}}
JSON(ready, "it can run code");
JSON(health, "its state");
JSON(me, "the caller");
JSON(settings, "the settings, with all defaults");
JSON(sandboxes, "those that the caller may see");
JSON(sandbox, "the sandbox");
JSON(processes, "running ones, and some that have exited");
JSON(process, "the process");
JSON(taken, "how many bytes were taken");
JSON(contexts, "the contexts");
JSON(context, "the context");
JSON(stat, "the file");
JSON(path, "where it was unpacked");
JSON(executions, "one page of the log");
JSON(verdict, "whether the log is complete and unchanged");
JSON(images, "the images");
JSON(image, "the image");
JSON(collected, "what was removed");
JSON(runtimes, "the runtimes");
JSON(pools, "the pools");
JSON(secrets, "the secrets");
JSON(secret, "the secret");
JSON(keys, "the keys");

static const struct answer answer_description[] = {
        {200, "the description", &kind_any, .example = "{\"openapi\":\"3.1.0\"}"}, {0}};
static const struct answer answer_tool[] = {
        {200, "what the tool says", &kind_any,
         .example = "{\"stdout\":\"hello\\n\",\"stderr\":\"\",\"exit_code\":0}"},
        {0}};

static const struct answer answer_nothing[] = {{204, "done"}, {0}};
static const struct answer answer_html[] = {
        {200, "the page", .media = "text/html", .example = "<!doctype html>"},
        {304, "it has not changed"},
        {0}};
static const struct answer answer_bytes[] = {
        {200, "the file", .media = "application/octet-stream", .example = "hello"},
        {304, "it has not changed"},
        {0}};
static const struct answer answer_text[] = {
        {200, "the counters", .media = "text/plain", .example = "cella_executions_running 1\n"}, {0}};
static const struct answer answer_run[] = {{200, "the result", &kind_result, .events = run_events},
                                           {202, "it was started, with detach", &kind_accepted},
                                           {0}};
static const struct answer answer_new_sandbox[] = {{201, "the sandbox", &kind_sandbox}, {0}};
static const struct answer answer_new_process[] = {{201, "the process", &kind_process}, {0}};
static const struct answer answer_output[] = {
        {200, "what it has written since the offsets", &kind_output, .events = process_events}, {0}};
static const struct answer answer_new_context[] = {{201, "the context", &kind_context}, {0}};
static const struct answer answer_file[] = {
        {200, "the bytes; or the directory; or events", &kind_directory, .media = "application/octet-stream",
         .events = file_events, .example = "hello"},
        {206, "a part of the bytes, with Range", .media = "application/octet-stream", .example = "ell"},
        {304, "it has not changed"},
        {0}};
static const struct answer answer_new_file[] = {
        {200, "it existed", &kind_stat}, {201, "it was created", &kind_stat}, {0}};
static const struct answer answer_tar[] = {
        {200, "a tar archive", .media = "application/x-tar", .example = "(the bytes of the archive)"}, {0}};
static const struct answer answer_websocket[] = {{101, "the WebSocket is open"}, {0}};
static const struct answer answer_events[] = {{200, "events", .events = watch_events}, {0}};
static const struct answer answer_execution[] = {
        {200, "the row of the log, or what is known while it runs", &kind_execution, &kind_running}, {0}};
static const struct answer answer_cancelled[] = {
        {200, "it has ended before", &kind_ended}, {202, "it is being ended", &kind_ended}, {0}};
static const struct answer answer_tools[] = {{200, "the tools", &kind_tools, &kind_functions}, {0}};
static const struct answer answer_rpc[] = {
        {200, "a JSON-RPC message, or events with them", &kind_any, .media = "text/event-stream",
         .example = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[]}}"},
        {202, "there is no answer"},
        {0}};
static const struct answer answer_rpc_end[] = {{200, "done"}, {202, "done"}, {204, "done"}, {0}};
static const struct answer answer_pull[] = {
        {201, "the image", &kind_image}, {200, "progress", .events = pull_events}, {0}};
static const struct answer answer_import[] = {
        {201, "the image", &kind_image}, {200, "progress", .events = pull_events}, {0}};
static const struct answer answer_put_secret[] = {
        {200, "it was changed", &kind_secret_name}, {201, "it was created", &kind_secret_name}, {0}};
static const struct answer answer_new_key[] = {{201, "the key, with its value", &kind_new_key}, {0}};

const struct api_route api_routes[] = {
        {HTTP_GET, "/", 0, API_OPEN, 0, NULL, web_index, "getWebPage", "server", "the web page", NULL,
         answer_html},
        {HTTP_GET, "/ui/{name}", 0, API_OPEN, 0, NULL, web_asset, "getWebAsset", "server",
         "a file of the web page", NULL, answer_bytes},
        {HTTP_GET, "/healthz", 0, API_OPEN, 0, NULL, rest_healthz, "getReadiness", "server",
         "whether the daemon can run code", NULL, answer_ready},
        {HTTP_GET, "/metrics", 0, 0, 0, NULL, rest_metrics, "getMetrics", "server",
         "counters in the Prometheus text format", NULL, answer_text},
        {HTTP_GET, "/openapi.json", 0, API_OPEN, 0, NULL, rest_openapi, "getOpenApi", "server",
         "this description", NULL, answer_description},
        {HTTP_GET, "/v1/health", 0, 0, 0, NULL, rest_health, "getHealth", "server",
         "engines, isolation layers and state of the daemon", NULL, answer_health},
        {HTTP_GET, "/v1/me", 0, 0, 0, NULL, rest_me, "getCaller", "server", "the caller and its capabilities",
         NULL, answer_me},
        {HTTP_GET, "/v1/settings", MAY_SETTINGS, 0, 0, NULL, rest_settings_get, "getSettings", "settings",
         "the settings", NULL, answer_settings},
        {HTTP_PUT, "/v1/settings", MAY_SETTINGS, 0, 0, settings_fields, rest_settings_put, "replaceSettings",
         "settings", "replaces the settings; missing fields get their defaults", of_settings, answer_settings,
         API_ERR_CHANGED},
        {HTTP_PATCH, "/v1/settings", MAY_SETTINGS, API_RAW, 1 << 20, NULL, rest_settings_patch,
         "updateSettings", "settings", "changes some settings", of_settings, answer_settings,
         API_ERR_CHANGED},
        {HTTP_POST, "/v1/exec", MAY_EXEC, API_RUNS, 0, exec_fields, rest_exec, "exec", "executions",
         "runs code or a command; as events with Accept: text/event-stream", NULL, answer_run},
        {HTTP_POST, "/v1/sandboxes", MAY_MANAGE, 0, 0, sandbox_fields, rest_sandbox_create, "createSandbox",
         "sandboxes", "creates a sandbox", NULL, answer_new_sandbox},
        {HTTP_GET, "/v1/sandboxes", 0, 0, 0, NULL, rest_sandbox_list, "listSandboxes", "sandboxes",
         "the sandboxes", of_sandboxes, answer_sandboxes},
        {HTTP_GET, SANDBOX, 0, 0, 0, NULL, rest_sandbox_get, "getSandbox", "sandboxes", "one sandbox", NULL,
         answer_sandbox},
        {HTTP_DELETE, SANDBOX, MAY_MANAGE, 0, 0, NULL, rest_sandbox_delete, "deleteSandbox", "sandboxes",
         "ends the sandbox and all its processes", NULL, answer_nothing},
        {HTTP_PATCH, SANDBOX, MAY_MANAGE, 0, 65536, sandbox_patch_fields, rest_sandbox_patch, "updateSandbox",
         "sandboxes", "changes limits, the time to live, labels or the name", NULL, answer_sandbox},
        {HTTP_POST, SANDBOX "/pause", MAY_MANAGE, API_RAW, 4096, NULL, rest_sandbox_pause, "pauseSandbox",
         "sandboxes", "pauses the sandbox and its deadlines", NULL, answer_sandbox},
        {HTTP_POST, SANDBOX "/resume", MAY_MANAGE, API_RAW, 4096, NULL, rest_sandbox_resume, "resumeSandbox",
         "sandboxes", "resumes the sandbox", NULL, answer_sandbox},
        {HTTP_POST, SANDBOX "/keepalive", MAY_MANAGE, 0, 4096, keepalive_fields, rest_sandbox_keepalive,
         "keepSandboxAlive", "sandboxes", "counts as use; may set a new time to live", NULL, answer_sandbox},
        {HTTP_POST, SANDBOX "/exec", MAY_EXEC, API_RUNS, 0, sandbox_exec_fields, rest_sandbox_exec,
         "execInSandbox", "executions", "runs code or a command in the sandbox", NULL, answer_run},
        {HTTP_POST, SANDBOX "/processes", MAY_EXEC, API_RUNS, 0, sandbox_exec_fields, rest_process_start,
         "startProcess", "processes", "starts a process in the background", NULL, answer_new_process},
        {HTTP_GET, SANDBOX "/processes", MAY_EXEC, 0, 0, NULL, rest_process_list, "listProcesses",
         "processes", "lists the background processes", NULL, answer_processes},
        {HTTP_GET, PROCESS, MAY_EXEC, 0, 0, NULL, rest_process_get, "getProcess", "processes",
         "one background process", NULL, answer_process},
        {HTTP_DELETE, PROCESS, MAY_EXEC, 0, 0, NULL, rest_process_delete, "killProcess", "processes",
         "kills the process and its descendants", NULL, answer_nothing},
        {HTTP_POST, PROCESS "/stdin", MAY_EXEC, API_RAW, 1 << 20, NULL, rest_process_stdin,
         "writeProcessStdin", "processes", "writes bytes to the standard input of the process", of_stdin,
         answer_taken},
        {HTTP_POST, PROCESS "/signal", MAY_EXEC, 0, 4096, signal_fields, rest_process_signal, "signalProcess",
         "processes", "sends a signal", NULL, answer_process},
        {HTTP_GET, PROCESS "/output", MAY_EXEC, 0, 0, NULL, rest_process_output, "getProcessOutput",
         "processes", "the output of the process; as events with Accept: text/event-stream", of_output,
         answer_output},
        {HTTP_POST, SANDBOX "/contexts", MAY_EXEC, 0, 4096, context_fields, rest_context_create,
         "createContext", "contexts", "starts an interpreter; its variables persist between runs", NULL,
         answer_new_context},
        {HTTP_GET, SANDBOX "/contexts", MAY_EXEC, 0, 0, NULL, rest_context_list, "listContexts", "contexts",
         "lists the contexts of the sandbox", NULL, answer_contexts},
        {HTTP_GET, CONTEXT, MAY_EXEC, 0, 0, NULL, rest_context_get, "getContext", "contexts", "one context",
         NULL, answer_context},
        {HTTP_DELETE, CONTEXT, MAY_EXEC, 0, 0, NULL, rest_context_delete, "deleteContext", "contexts",
         "kills the context and its processes", NULL, answer_nothing},
        {HTTP_POST, CONTEXT "/run", MAY_EXEC, API_RUNS, 0, context_run_fields, rest_context_run,
         "runInContext", "contexts", "runs code in the context; as events with Accept: text/event-stream",
         NULL, answer_run},
        {HTTP_POST, CONTEXT "/interrupt", MAY_EXEC, API_RAW, 4096, NULL, rest_context_interrupt,
         "interruptContext", "contexts", "interrupts the running code; the context stays alive", NULL,
         answer_context},
        {HTTP_POST, CONTEXT "/restart", MAY_EXEC, API_RAW, 4096, NULL, rest_context_restart, "restartContext",
         "contexts", "kills the interpreter and starts a new one with an empty state", NULL, answer_context},
        {HTTP_GET, SANDBOX "/files", MAY_FILES, 0, 0, NULL, rest_files_get, "readFile", "files",
         "a file's bytes; list=1 a directory; watch=1 changes as events", of_read, answer_file,
         API_ERR_RANGE},
        {HTTP_PUT, SANDBOX "/files", MAY_FILES, API_STREAM, ANY_SIZE, NULL, rest_files_put, "writeFile",
         "files", "writes a file atomically", of_write, answer_new_file, API_ERR_CHANGED},
        {HTTP_DELETE, SANDBOX "/files", MAY_FILES, 0, 0, NULL, rest_files_delete, "deleteFile", "files",
         "removes a file or directory", of_delete, answer_nothing},
        {HTTP_POST, SANDBOX "/files/mkdir", MAY_FILES, 0, 65536, mkdir_fields, rest_files_mkdir,
         "makeDirectory", "files", "creates a directory", NULL, answer_new_file},
        {HTTP_POST, SANDBOX "/files/move", MAY_FILES, 0, 65536, move_fields, rest_files_move, "moveFile",
         "files", "moves a file or directory", NULL, answer_stat},
        {HTTP_POST, SANDBOX "/files/stat", MAY_FILES, 0, 65536, stat_fields, rest_files_stat, "statFile",
         "files", "type, size, mode and time of a file", NULL, answer_stat},
        {HTTP_GET, SANDBOX "/archive", MAY_FILES, 0, 0, NULL, rest_archive_get, "readArchive", "files",
         "a tar of a directory", of_path, answer_tar},
        {HTTP_PUT, SANDBOX "/archive", MAY_FILES, API_STREAM, ANY_SIZE, NULL, rest_archive_put,
         "writeArchive", "files", "unpacks a tar into a directory", of_path, answer_path},
        {HTTP_GET, SANDBOX "/terminal", MAY_EXEC, API_RUNS, 0, NULL, rest_terminal, "openTerminal",
         "processes", "a terminal, as a WebSocket", of_terminal, answer_websocket},
        {HTTP_GET, "/v1/events", 0, 0, 0, NULL, rest_events, "watchEvents", "server",
         "events: health, rates, sandboxes, and executions when they end", of_events, answer_events},
        {HTTP_GET, "/v1/executions", 0, 0, 0, NULL, rest_execution_list, "listExecutions", "executions",
         "executions and refused requests, newest first: mode (sandbox or host), engine, image, tier, key, "
         "error",
         of_executions, answer_executions},
        {HTTP_GET, "/v1/executions/verify", MAY_AUDIT, 0, 0, NULL, rest_execution_verify, "verifyLog",
         "executions", "checks the log's chain of hashes", NULL, answer_verdict},
        {HTTP_GET, "/v1/executions/{id}", 0, 0, 0, NULL, rest_execution_get, "getExecution", "executions",
         "one execution with its code, output, arguments, names of variables, sizes and hashes of its input, "
         "and findings",
         NULL, answer_execution},
        {HTTP_DELETE, "/v1/executions/{id}", MAY_EXEC, 0, 0, NULL, rest_execution_cancel, "cancelExecution",
         "executions", "cancels an execution", NULL, answer_cancelled},
        {HTTP_GET, "/v1/tools", 0, 0, 0, NULL, tools_http_list, "listTools", "tools",
         "the tools for agents, with their schemas", of_tools, answer_tools},
        {HTTP_POST, "/v1/tools/{name}", 0, API_RAW, API_BODY_MAX, NULL, tools_http_call, "callTool", "tools",
         "calls a tool", NULL, answer_tool, API_ERR_TIMEOUT},
        {HTTP_POST, "/mcp", 0, API_RAW, MCP_MESSAGE_MAX, NULL, mcp_http_post, "sendMcpMessage", "tools",
         "the Model Context Protocol: one JSON-RPC message", NULL, answer_rpc, API_ERR_METHOD},
        {HTTP_GET, "/mcp", 0, 0, 0, NULL, mcp_http_get, "continueMcpStream", "tools",
         "continues a stream after Last-Event-ID", NULL, answer_rpc, API_ERR_METHOD},
        {HTTP_DELETE, "/mcp", 0, 0, 0, NULL, mcp_http_delete, "endMcpSession", "tools", "ends a session",
         NULL, answer_rpc_end, API_ERR_METHOD},
        {HTTP_GET, "/v1/images", 0, 0, 0, NULL, rest_image_list, "listImages", "images",
         "the images, newest first", NULL, answer_images},
        {HTTP_POST, "/v1/images", MAY_IMAGES, 0, 4096, image_pull_fields, rest_image_pull, "pullImage",
         "images", "pulls an image from a registry; as events with Accept: text/event-stream", NULL,
         answer_pull},
        {HTTP_POST, "/v1/images/import", MAY_IMAGES, API_STREAM, ANY_SIZE, NULL, rest_image_import,
         "importImage", "images", "imports an archive: OCI, docker save, or a tar of a root directory",
         of_import, answer_import},
        {HTTP_POST, "/v1/images/gc", MAY_IMAGES, API_RAW, 4096, NULL, rest_image_collect, "collectImages",
         "images", "removes layers and files that belong to no image", NULL, answer_collected},
        {HTTP_GET, IMAGE, 0, 0, 0, NULL, rest_image_get, "getImage", "images", "one image, by name or id",
         NULL, answer_image},
        {HTTP_DELETE, IMAGE, MAY_IMAGES, 0, 0, NULL, rest_image_remove, "removeImage", "images",
         "removes a name; removes the image with its last name, or by id", NULL, answer_nothing},
        {HTTP_GET, "/v1/runtimes", 0, 0, 0, NULL, rest_runtimes, "listRuntimes", "images",
         "the runtimes of this machine and of the images", of_runtimes, answer_runtimes},
        {HTTP_GET, "/v1/pools", 0, 0, 0, NULL, rest_pools, "listPools", "pools",
         "pools of sandboxes made in advance", NULL, answer_pools},
        {HTTP_POST, "/v1/pools/acquire", MAY_MANAGE, 0, 65536, lease_fields, rest_pool_acquire,
         "acquireSandbox", "pools", "leases a sandbox that was made in advance", NULL, answer_new_sandbox},
        {HTTP_POST, "/v1/pools/release", MAY_MANAGE, 0, 4096, release_fields, rest_pool_release,
         "releaseSandbox", "pools",
         "gives a leased sandbox back: it is removed, and its pool makes another one", NULL, answer_nothing},
        {HTTP_GET, "/v1/secrets", MAY_SECRETS, 0, 0, NULL, rest_secret_list, "listSecrets", "secrets",
         "the secrets, without their values", NULL, answer_secrets},
        {HTTP_GET, SECRET, MAY_SECRETS, 0, 0, NULL, rest_secret_get, "getSecret", "secrets",
         "one secret, without its value", NULL, answer_secret},
        {HTTP_PUT, SECRET, MAY_SECRETS, 0, 1 << 19, secret_fields, rest_secret_put, "putSecret", "secrets",
         "creates or changes a secret", NULL, answer_put_secret},
        {HTTP_DELETE, SECRET, MAY_SECRETS, 0, 0, NULL, rest_secret_remove, "removeSecret", "secrets",
         "removes a secret", NULL, answer_nothing},
        {HTTP_GET, "/v1/keys", MAY_SETTINGS, 0, 0, NULL, rest_key_list, "listKeys", "keys",
         "the keys, without their values", NULL, answer_keys},
        {HTTP_POST, "/v1/keys", MAY_SETTINGS, 0, 65536, key_fields, rest_key_add, "createKey", "keys",
         "creates a key", NULL, answer_new_key},
        {HTTP_DELETE, "/v1/keys/{id}", MAY_SETTINGS, 0, 0, NULL, rest_key_remove, "removeKey", "keys",
         "removes a key", NULL, answer_nothing},
};
const size_t api_routes_len = ARRAY_LEN(api_routes);
