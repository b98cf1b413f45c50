#include "front/mcp/rpc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/schema.h"

/* The parser may cut its quotation in the middle of a character. */
static void make_plain(char *text)
{
        for (; *text; text++)
                if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
                        *text = '?';
}

json_t *rpc_parse(const char *text, size_t len, char *ret_why, size_t why_size)
{
        json_error_t error;
        json_t *document = schema_load(text, len, &error);
        if (document)
                return document;
        make_plain(error.text);
        snprintf(ret_why, why_size, "not valid JSON: line %d, column %d: %s", error.line, error.column,
                 error.text);
        return NULL;
}

const char *rpc_text(const json_t *object, const char *name)
{
        const json_t *value = json_object_get(object, name);
        const char *text = json_string_value(value);
        return text && strlen(text) == json_string_length(value) ? text : NULL;
}

static bool is_id(const json_t *id)
{
        return json_is_integer(id) || (json_is_string(id) && json_string_length(id) <= RPC_ID_MAX);
}

/* Other code walks through all of it recursively. */
static bool is_too_deep(const json_t *value, unsigned depth)
{
        const char *name;
        json_t *below;
        size_t i;
        if (!json_is_object(value) && !json_is_array(value))
                return false;
        if (depth == 0)
                return true;
        json_object_foreach ((json_t *)value, name, below)
                if (is_too_deep(below, depth - 1))
                        return true;
        json_array_foreach (value, i, below)
                if (is_too_deep(below, depth - 1))
                        return true;
        return false;
}

static int mcp_rpc_refuse(const char *why, const char **ret_why)
{
        *ret_why = why;
        return RPC_INVALID_REQUEST;
}

static int read_response(const json_t *document, const char **ret_why)
{
        const json_t *result = json_object_get(document, "result"),
                     *error = json_object_get(document, "error");
        if (!result == !error || (result && !json_is_object(result)) || (error && !json_is_object(error)))
                return mcp_rpc_refuse("a message has a method, a result or an error", ret_why);
        return 0;
}

int rpc_read(const json_t *document, struct rpc_message *ret, const char **ret_why)
{
        const json_t *id = json_object_get(document, "id");
        const json_t *params = json_object_get(document, "params");
        const char *version = rpc_text(document, "jsonrpc");
        *ret = (struct rpc_message){.id = is_id(id) ? id : NULL, .method = rpc_text(document, "method")};
        if (!json_is_object(document))
                return mcp_rpc_refuse("a message is an object", ret_why);
        if (!version || strcmp(version, "2.0") != 0)
                return mcp_rpc_refuse("jsonrpc must be \"2.0\"", ret_why);
        if (id && !ret->id)
                return mcp_rpc_refuse("id must be a string of at most 256 bytes, or an integer", ret_why);
        if (is_too_deep(document, SCHEMA_DEPTH_MAX + 4))
                return mcp_rpc_refuse("the message is nested too deeply", ret_why);
        if (!json_object_get(document, "method")) {
                ret->kind = RPC_RESPONSE;
                return ret->id || json_object_get(document, "error")
                               ? read_response(document, ret_why)
                               : mcp_rpc_refuse("method must be a string", ret_why);
        }
        ret->kind = id ? RPC_REQUEST : RPC_NOTIFICATION;
        if (!ret->method)
                return mcp_rpc_refuse("method must be a string", ret_why);
        if (params && !json_is_object(params)) {
                *ret_why = "params must be an object";
                return RPC_INVALID_PARAMS;
        }
        ret->params = params;
        return 0;
}

static char *dump(json_t *message, size_t *ret_len)
{
        char *text = message ? json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;
        json_decref(message);
        *ret_len = text ? strlen(text) : 0;
        return text;
}

char *rpc_error(const json_t *id, int code, const char *message, json_t *data, size_t *ret_len)
{
        json_t *error = json_pack("{s:i, s:s}", "code", code, "message", message);
        json_t *whole = error ? json_pack("{s:s}", "jsonrpc", "2.0") : NULL;
        if (id && whole)
                json_object_set(whole, "id", (json_t *)id);
        if (data && error)
                json_object_set_new(error, "data", data);
        else
                json_decref(data);
        if (whole)
                json_object_set_new(whole, "error", error);
        return dump(whole, ret_len);
}

char *rpc_result(const json_t *id, json_t *result, size_t *ret_len)
{
        return dump(result ? json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result)
                           : NULL,
                    ret_len);
}

char *rpc_notification(const char *method, json_t *params, size_t *ret_len)
{
        return dump(json_pack("{s:s, s:s, s:o*}", "jsonrpc", "2.0", "method", method, "params", params),
                    ret_len);
}

char *rpc_id_text(const json_t *id)
{
        return json_dumps(id, JSON_ENCODE_ANY | JSON_COMPACT);
}
