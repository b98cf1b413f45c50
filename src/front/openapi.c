/* front/openapi.c -- the description of the API (OpenAPI 3.1), from the table of routes, the tables that
 * check requests and those of the answers. */
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "core/request/request.h"
#include "front/answers/answers.h"
#include "front/rest/rest.h"
#include "front/routes.h"

static const char *const methods[] = {[HTTP_GET] = "get",
                                      [HTTP_POST] = "post",
                                      [HTTP_PUT] = "put",
                                      [HTTP_PATCH] = "patch",
                                      [HTTP_DELETE] = "delete"};

static const char *const tags[][2] = {
        {"executions", "Running code, and the log of what ran"},
        {"sandboxes", "Sandboxes that live longer than one execution"},
        {"files", "Files of a sandbox"},
        {"processes", "Background processes and terminals of a sandbox"},
        {"contexts", "Interpreters whose variables persist between runs"},
        {"tools", "Tools for agents, and the Model Context Protocol"},
        {"images", "Container images and runtimes"},
        {"pools", "Sandboxes made in advance"},
        {"secrets", "Values that code may use and that the API never shows"},
        {"keys", "Keys of the API"},
        {"settings", "Settings of the daemon"},
        {"server", "State of the daemon"},
};

/* Requests, for the documentation and for generated clients. */
static const char *const examples[][2] = {
        {"exec", "{\"runtime\": \"python3\", \"code\": \"print(6 * 7)\"}"},
        {"execInSandbox", "{\"command\": [\"ls\", \"-l\"], \"timeout_ms\": 5000}"},
        {"createSandbox", "{\"name\": \"build-17\", \"ttl_ms\": 3600000, \"metadata\": {\"task\": \"17\"}}"},
        {"updateSandbox", "{\"limits\": {\"memory_bytes\": 1073741824}, \"name\": \"build-18\"}"},
        {"keepSandboxAlive", "{\"ttl_ms\": 3600000}"},
        {"startProcess", "{\"command\": [\"python3\", \"-m\", \"http.server\"]}"},
        {"signalProcess", "{\"signal\": \"TERM\"}"},
        {"createContext", "{\"runtime\": \"python3\"}"},
        {"runInContext", "{\"code\": \"x = 6 * 7; x\"}"},
        {"makeDirectory", "{\"path\": \"data\", \"parents\": true}"},
        {"moveFile", "{\"from\": \"a.txt\", \"to\": \"data/a.txt\"}"},
        {"statFile", "{\"path\": \"data/a.txt\"}"},
        {"pullImage", "{\"pull\": \"python:3.12-slim\"}"},
        {"acquireSandbox", "{\"runtime\": \"python3\"}"},
        {"releaseSandbox", "{\"id\": \"sbx_01k9qc5r1x7a0\"}"},
        {"putSecret", "{\"value\": \"s3cret\"}"},
        {"createKey", "{\"name\": \"ci\", \"capabilities\": [\"sandbox.exec\"]}"},
        {"replaceSettings", "{\"limits\": {\"timeout_ms\": 10000}}"},
        {"updateSettings", "{\"limits\": {\"timeout_ms\": 10000}}"},
        {"callTool", "{\"runtime\": \"sh\", \"code\": \"echo hello\"}"},
        {"writeProcessStdin", "\"hello\\n\""},
        {"writeFile", "\"hello\\n\""},
        {"writeArchive", "\"(the bytes of a tar)\""},
        {"importImage", "\"(the bytes of docker save)\""},
        {"sendMcpMessage", "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/list\"}"},
};

/* ---- components ---- */

/* The tables with a name.  Those of requests are added by openapi_make(). */
#define COMPONENTS_MAX 160
static struct component {
        const struct field *fields;
        char name[48];
} components[COMPONENTS_MAX];
static size_t n_components;

static const char *name_of(const struct field *fields)
{
        for (size_t i = 0; i < n_components; i++)
                if (components[i].fields == fields)
                        return components[i].name;
        return NULL;
}

static void add_component(const struct field *fields, const char *name, const char *after)
{
        if (!fields || !name || name_of(fields) || n_components == COMPONENTS_MAX)
                return;
        struct component *c = &components[n_components++];
        c->fields = fields;
        snprintf(c->name, sizeof c->name, "%s%s", name, after);
        if (c->name[0] >= 'a' && c->name[0] <= 'z')
                c->name[0] = (char)(c->name[0] - 'a' + 'A');
}

static const struct field *fields_of(const struct kind *kind)
{
        return !kind ? NULL : kind->fields ? kind->fields() : kind->table;
}

static void add_kind(const struct kind *kind)
{
        if (kind)
                add_component(fields_of(kind), kind->name, "");
}

static void add_components(void)
{
        const struct kind *const *const parts[] = {run_parts, sandbox_parts, daemon_parts};
        add_kind(&kind_error);
        for (size_t i = 0; i < ARRAY_LEN(parts); i++)
                for (const struct kind *const *kind = parts[i]; *kind; kind++)
                        add_kind(*kind);
        for (size_t i = 0; i < api_routes_len; i++) {
                for (const struct answer *a = api_routes[i].answers; a->status; a++) {
                        add_kind(a->kind);
                        add_kind(a->other);
                        for (const struct event *e = a->events; e && e->name; e++)
                                add_kind(e->data);
                }
                if (api_routes[i].fields)
                        add_component(api_routes[i].fields(), api_routes[i].id, "Request");
        }
}

static json_t *schema_named(const struct field *fields)
{
        const char *name = name_of(fields);
        return name ? json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", name))
                    : json_pack("{s:[s, s]}", "type", "object", "array"); /* a batch of JSON-RPC */
}

static json_t *component_schemas(void)
{
        json_t *all = json_object();
        for (size_t i = 0; i < n_components; i++) {
                /* The web form is made from the settings' own schema. */
                const bool whole = components[i].fields == settings_fields();
                json_object_set_new(all, components[i].name,
                                    schema_describe_shared(components[i].fields, whole ? NULL : name_of));
        }
        return all;
}

/* ---- requests ---- */

static const char *path_help(const struct api_route *route, const char *name, size_t len)
{
        if (len == 3 && !strncmp(name, "pid", len))
                return "number of the process";
        if (len == 7 && !strncmp(name, "context", len))
                return "id of the context";
        if (len == 4)
                return "its name; a slash in it is %2F";
        return strncmp(route->pattern, "/v1/sandboxes", 13) ? "its id" : "id or name of the sandbox";
}

static json_t *path_parameter(const struct api_route *route, const char *name, size_t len)
{
        const bool number = len == 3 && !strncmp(name, "pid", len);
        return json_pack("{s:s%, s:s, s:b, s:s, s:{s:s}}", "name", name, len, "in", "path", "required", 1,
                         "description", path_help(route, name, len), "schema", "type",
                         number ? "integer" : "string");
}

static json_t *query_parameter(const struct field *field)
{
        struct field value = *field;
        value.help = NULL;
        json_t *p = json_pack("{s:s, s:s, s:b, s:o}", "name", field->name, "in", "query", "required",
                              (int)(field->flags & FIELD_REQUIRED), "schema",
                              schema_describe_value(&value, NULL));
        if (field->help)
                json_object_set_new(p, "description", json_string(field->help));
        return p;
}

static json_t *parameters(const struct api_route *route)
{
        json_t *list = json_array();
        for (const char *p = strchr(route->pattern, '{'); p; p = strchr(p + 1, '{'))
                json_array_append_new(list, path_parameter(route, p + 1, strcspn(p + 1, "}")));
        for (const struct field *f = route->query; f && f->name; f++)
                json_array_append_new(list, query_parameter(f));
        return list;
}

static bool any_required(const struct field *fields)
{
        for (; fields->name; fields++)
                if (fields->flags & FIELD_REQUIRED)
                        return true;
        return false;
}

static json_t *request_body(const struct api_route *route)
{
        json_t *content = NULL, *body;
        const char *type = "application/json";
        if (route->fields)
                content = json_pack("{s:o}", "schema", schema_named(route->fields()));
        else if (route->method == HTTP_PATCH || /* of the settings */
                 ((route->flags & API_RAW) && !strcmp(route->tag, "tools")))
                content = json_pack("{s:{s:s}}", "schema", "type", "object");
        else if (route->query || (route->flags & API_STREAM))
                content = (route->flags & (API_STREAM | API_RAW)) ? json_pack("{s:{}}", "schema") : NULL;
        if (!content)
                return NULL;
        if (!route->fields && route->method == HTTP_PATCH)
                type = "application/merge-patch+json";
        else if (!route->fields && strcmp(route->tag, "tools") != 0)
                type = "application/octet-stream";
        for (size_t i = 0; i < ARRAY_LEN(examples); i++)
                if (!strcmp(examples[i][0], route->id))
                        json_object_set_new(content, "example",
                                            json_loads(examples[i][1], JSON_DECODE_ANY, NULL));
        body = json_pack("{s:b, s:{s:o}}", "required", !route->fields || any_required(route->fields()),
                         "content", type, content);
        return body;
}

/* ---- answers ---- */

static json_t *example_of(const struct kind *kind)
{
        const struct field *fields = fields_of(kind);
        json_t *all = fields == settings_fields() ? schema_defaults(fields)
                      : fields                    ? schema_example(fields)
                                                  : json_object();
        json_t *given = kind->example ? json_loads(kind->example, 0, NULL) : NULL;
        json_object_update(all, given);
        json_decref(given);
        return all;
}

static json_t *json_content(const struct answer *a)
{
        json_t *schema = schema_named(fields_of(a->kind));
        if (a->other)
                schema = json_pack("{s:[o, o]}", "anyOf", schema, schema_named(fields_of(a->other)));
        json_t *content = json_pack("{s:o}", "schema", schema);
        if (a->example && !(a->media && fields_of(a->kind)))
                json_object_set_new(content, "example", json_loads(a->example, 0, NULL));
        else if (fields_of(a->kind))
                json_object_set_new(content, "example", example_of(a->kind));
        return content;
}

/* Bytes or text.  The events of MCP are JSON. */
static json_t *media_content(const struct answer *a)
{
        const bool text = !strncmp(a->media, "text/", 5);
        json_t *content =
                text ? json_pack("{s:{s:s}}", "schema", "type", "string") : json_pack("{s:{}}", "schema");
        if (a->example)
                json_object_set_new(content, "example",
                                    a->kind && text ? json_sprintf("data: %s\n\n", a->example)
                                                    : json_string(a->example));
        return content;
}

/* The data of each event is JSON: x-events names its schema. */
static json_t *stream_content(const struct event *events)
{
        json_t *data = json_object();
        for (const struct event *e = events; e->name; e++)
                json_object_set_new(data, e->name, schema_named(fields_of(e->data)));
        return json_pack("{s:{s:s, s:s}, s:o, s:s}", "schema", "type", "string", "description",
                         "server-sent events; their data are JSON, see x-events", "x-events", data, "example",
                         "event: stdout\ndata: {\"text\":\"hello\\n\"}\n\n");
}

static json_t *answer_described(const struct answer *a)
{
        json_t *o = json_pack("{s:s}", "description", a->about), *content = json_object();
        if (a->kind)
                json_object_set_new(content, "application/json", json_content(a));
        if (a->media)
                json_object_set_new(content, a->media, media_content(a));
        if (a->events)
                json_object_set_new(content, "text/event-stream", stream_content(a->events));
        if (json_object_size(content) > 0)
                json_object_set(o, "content", content);
        json_decref(content);
        return o;
}

/* The statuses that the server's checks, or those of the handler, can answer with. */
static bool can_fail(const struct api_route *route, int status)
{
        const bool open = route->flags & API_OPEN, takes = route->method != HTTP_GET;
        switch (status) {
        case 400:
        case 403:
        case 500:
                return true;
        case 401:
        case 503:
                return !open || route->handle == rest_healthz;
        case 404:
                return strchr(route->pattern, '{') || !strcmp(route->tag, "tools") || route->fields ||
                       route->query;
        case 426:
                return route->handle == rest_terminal;
        case 405:
                return route->errors & API_ERR_METHOD;
        case 412:
                return route->errors & API_ERR_CHANGED;
        case 413:
                return takes || (route->may & MAY_FILES);
        case 416:
                return route->errors & API_ERR_RANGE;
        case 422:
                return route->fields || (route->flags & API_RUNS) || !strcmp(route->tag, "tools");
        case 429:
                return !open;
        case 504:
                return route->errors & API_ERR_TIMEOUT;
        }
        return false;
}

static json_t *answers(const struct api_route *route)
{
        static const int failures[] = {400, 401, 403, 404, 405, 412, 413, 416, 422, 426, 429, 500, 503, 504};
        json_t *all = json_object();
        char status[8];
        for (const struct answer *a = route->answers; a->status; a++) {
                snprintf(status, sizeof status, "%d", a->status);
                json_object_set_new(all, status, answer_described(a));
        }
        for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
                if (!can_fail(route, failures[i]))
                        continue;
                snprintf(status, sizeof status, "%d", failures[i]);
                json_object_set_new(
                        all, status,
                        json_pack("{s:o}", "$ref",
                                  json_sprintf("#/components/responses/%s%d",
                                               !strcmp(route->pattern, "/mcp")                       ? "Rpc"
                                               : route->handle == rest_healthz && failures[i] == 503 ? "Ready"
                                               : failures[i] == 504                                  ? "Tool"
                                                                    : "Error",
                                               failures[i])));
        }
        return all;
}

static json_t *operation(const struct api_route *route)
{
        json_t *o = json_pack("{s:s, s:[s], s:s, s:o, s:o}", "operationId", route->id, "tags", route->tag,
                              "summary", route->summary, "parameters", parameters(route), "responses",
                              answers(route));
        json_t *body = request_body(route);
        if (body)
                json_object_set_new(o, "requestBody", body);
        if (route->flags & API_OPEN)
                json_object_set_new(o, "security", json_array());
        for (int bit = 0; route->may && capability_words[bit]; bit++)
                if (route->may & (1u << bit))
                        json_object_set_new(o, "x-capability", json_string(capability_words[bit]));
        return o;
}

/* ---- the document ---- */

#define RPC_ERROR "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32600,\"message\":\"Invalid Request\"}}"

static const struct {
        const char *family;
        int status;
        const char *about;
        const char *example; /* JSON; NULL: that of the kind */
} failures[] = {
        {"Error", 400, "the request is not valid"},
        {"Error", 401, "the key is missing or unknown",
         "{\"error\":{\"kind\":\"unauthorized\",\"message\":\"a key is required\",\"hint\":\"Authorization: "
         "Bearer KEY\"}}"},
        {"Error", 403, "access denied",
         "{\"error\":{\"kind\":\"access_denied\",\"message\":\"access denied: sandbox.exec\"}}"},
        {"Error", 404, "there is no such thing, or another key owns it",
         "{\"error\":{\"kind\":\"not_found\",\"message\":\"no sandbox 'sbx_01k9qc5r1x7a0'\"}}"},
        {"Error", 412, "it was changed in the meantime: see If-Match",
         "{\"error\":{\"kind\":\"conflict\",\"message\":\"the file has changed\"}}"},
        {"Error", 413, "the body is too large",
         "{\"error\":{\"kind\":\"too_large\",\"message\":\"the body is too large\"}}"},
        {"Error", 416, "the file does not have these bytes"},
        {"Error", 422, "the code cannot be run: no such runtime, or the scanner refused it",
         "{\"error\":{\"kind\":\"runtime_not_found\",\"message\":\"runtime not found: "
         "ruby\",\"hint\":\"apt-get install ruby, or use an image that has it\"}}"},
        {"Error", 426, "not a handshake of a WebSocket"},
        {"Error", 429, "too much at once: see Retry-After",
         "{\"error\":{\"kind\":\"over_capacity\",\"message\":\"too many executions at once\"}}"},
        {"Error", 500, "an error of the daemon",
         "{\"error\":{\"kind\":\"internal\",\"message\":\"an error of the daemon\"}}"},
        {"Error", 503, "the daemon cannot do this now, or this host cannot",
         "{\"error\":{\"kind\":\"isolation_unavailable\",\"message\":\"cgroup: no limit on memory here\"}}"},
        {"Ready", 503, "it cannot run code now"},
        {"Tool", 504, "the time limit has passed: the error, and the output until then",
         "{\"error\":{\"kind\":\"timeout\",\"message\":\"timeout\"},\"stdout\":\"out\\n\",\"stderr\":\"\"}"},
        {"Rpc", 400, "an error of JSON-RPC, or of the API", RPC_ERROR},
        {"Rpc", 401, "the key is missing or unknown", RPC_ERROR},
        {"Rpc", 403, "access denied", RPC_ERROR},
        {"Rpc", 404, "no such session", RPC_ERROR},
        {"Rpc", 405, "not with this method", RPC_ERROR},
        {"Rpc", 413, "the body is too large", RPC_ERROR},
        {"Rpc", 422, "the code cannot be run", RPC_ERROR},
        {"Rpc", 429, "too much at once", RPC_ERROR},
        {"Rpc", 500, "an error of the daemon", RPC_ERROR},
        {"Rpc", 503, "the daemon cannot do this now", RPC_ERROR},
};

static json_t *failure_responses(void)
{
        json_t *all = json_object();
        for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
                const char *family = failures[i].family;
                const struct kind *kind = !strcmp(family, "Error")   ? &kind_error
                                          : !strcmp(family, "Ready") ? &kind_ready
                                                                     : &kind_any;
                const struct answer a = {failures[i].status, failures[i].about, kind,
                                         .example = failures[i].example};
                char name[24];
                snprintf(name, sizeof name, "%s%d", family, failures[i].status);
                json_object_set_new(all, name, answer_described(&a));
        }
        return all;
}

static json_t *tag_list(void)
{
        json_t *list = json_array();
        for (size_t i = 0; i < ARRAY_LEN(tags); i++)
                json_array_append_new(list,
                                      json_pack("{s:s, s:s}", "name", tags[i][0], "description", tags[i][1]));
        return list;
}

json_t *openapi_make(void)
{
        json_t *paths = json_object();
        add_components();
        for (size_t i = 0; i < api_routes_len; i++) {
                json_t *path = json_object_get(paths, api_routes[i].pattern);
                if (!path) {
                        path = json_object();
                        json_object_set_new(paths, api_routes[i].pattern, path);
                }
                json_object_set_new(path, methods[api_routes[i].method], operation(&api_routes[i]));
        }
        json_t *parts =
                json_pack("{s:o, s:o, s:{s:{s:s, s:s, s:s}}}", "schemas", component_schemas(), "responses",
                          failure_responses(), "securitySchemes", "key", "type", "http", "scheme", "bearer",
                          "description", "a key of the API; not needed on loopback while there is no key");
        return json_pack("{s:s, s:{s:s, s:s, s:s, s:{s:s, s:s}}, s:[{s:s, s:s}], s:o, s:o, s:o, s:[{s:[]}]}",
                         "openapi", "3.1.0", "info", "title", "Cella", "version", CELLA_VERSION,
                         "description", "Runs untrusted code in sandboxes on this machine.", "license",
                         "name", "LICENSE", "identifier", "Apache-2.0", "servers", "url", "/", "description",
                         "the daemon that this document comes from", "tags", tag_list(), "paths", paths,
                         "components", parts, "security", "key");
}
