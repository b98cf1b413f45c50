/* front/openapi.c -- the description of the API (OpenAPI 3.1), from the tables that check requests. */
#include <stdlib.h>
#include <string.h>

#include "front/routes.h"

static const char *const methods[] = {[HTTP_GET] = "get",
                                      [HTTP_POST] = "post",
                                      [HTTP_PUT] = "put",
                                      [HTTP_PATCH] = "patch",
                                      [HTTP_DELETE] = "delete"};

static json_t *parameter(const char *name, size_t len, const char *where)
{
        json_t *p = json_pack("{s:s%, s:s, s:b, s:{s:s}}", "name", name, len, "in", where, "required",
                              (int)!strcmp(where, "path"), "schema", "type", "string");
        return p;
}

/* Returns the parameters of the path, in {}, then those of the query, separated by commas. */
static json_t *parameters(const struct api_route *route)
{
        json_t *list = json_array();
        for (const char *p = strchr(route->pattern, '{'); p; p = strchr(p + 1, '{'))
                json_array_append_new(list, parameter(p + 1, strcspn(p + 1, "}"), "path"));
        for (const char *p = route->query; p && *p;) {
                size_t len = strcspn(p, ",");
                json_array_append_new(list, parameter(p, len, "query"));
                p += len;
                p += strspn(p, ", ");
        }
        return list;
}

static json_t *request_body(const struct api_route *route)
{
        if (route->fields)
                return json_pack("{s:{s:{s:o}}}", "content", "application/json", "schema",
                                 schema_describe(route->fields()));
        if (route->method == HTTP_PATCH)
                return json_pack("{s:{s:{s:{s:s}}}}", "content", "application/merge-patch+json", "schema",
                                 "type", "object");
        if (route->flags & (API_STREAM | API_RAW))
                return json_pack("{s:{s:{}}}", "content", "application/octet-stream");
        return NULL;
}

static json_t *operation(const struct api_route *route)
{
        json_t *error = json_pack("{s:s, s:{s:{s:{s:s}}}}", "description", "what was wrong", "content",
                                  "application/json", "schema", "$ref", "#/components/schemas/error");
        json_t *o = json_pack("{s:s, s:o, s:{s:{s:s}, s:o}}", "summary", route->summary, "parameters",
                              parameters(route), "responses", "2XX", "description",
                              route->answer ? route->answer : "done", "default", error);
        json_t *body = request_body(route);
        if (body)
                json_object_set_new(o, "requestBody", body);
        for (int bit = 0; route->may && capability_words[bit]; bit++)
                if (route->may & (1u << bit))
                        json_object_set_new(o, "x-capability", json_string(capability_words[bit]));
        return o;
}

static json_t *error_schema(void)
{
        json_t *kinds = json_array();
        for (int kind = CELLA_INVALID_REQUEST; kind <= CELLA_OVER_CAPACITY; kind++)
                json_array_append_new(kinds, json_string(cella_kind_name((enum cella_kind)kind)));
        json_array_append_new(kinds, json_string("timeout"));  /* of the tool sandbox.exec */
        json_array_append_new(kinds, json_string("conflict")); /* of If-Match */
        return json_pack("{s:s, s:[s], s:{s:{s:s, s:[s,s], s:{s:{s:s, s:o}, s:{s:s}, s:{s:s}}}}}", "type",
                         "object", "required", "error", "properties", "error", "type", "object", "required",
                         "kind", "message", "properties", "kind", "type", "string", "enum", kinds, "message",
                         "type", "string", "hint", "type", "string");
}

json_t *openapi_make(void)
{
        json_t *paths = json_object();
        for (size_t i = 0; i < api_routes_len; i++) {
                json_t *path = json_object_get(paths, api_routes[i].pattern);
                if (!path) {
                        path = json_object();
                        json_object_set_new(paths, api_routes[i].pattern, path);
                }
                json_object_set_new(path, methods[api_routes[i].method], operation(&api_routes[i]));
        }
        return json_pack("{s:s, s:{s:s, s:s, s:s}, s:o, s:{s:{s:o, s:o}, s:{s:{s:s, s:s}}}, s:[{s:[]}]}",
                         "openapi", "3.1.0", "info", "title", "Cella", "version", CELLA_VERSION,
                         "description", "Runs untrusted code in sandboxes on this machine.", "paths", paths,
                         "components", "schemas", "error", error_schema(), "settings",
                         schema_describe(settings_fields()), "securitySchemes", "key", "type", "http",
                         "scheme", "bearer", "security", "key");
}
