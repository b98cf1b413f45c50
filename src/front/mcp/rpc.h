/* front/mcp/rpc.h -- JSON-RPC 2.0 as MCP uses it: parses messages and creates answers.
 *
 * It does not depend on methods or transports.  An id is a string or an integer; if it could not be read, the
 * answer has none. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum rpc_code {
        RPC_PARSE_ERROR = -32700,
        RPC_INVALID_REQUEST = -32600,
        RPC_METHOD_NOT_FOUND = -32601,
        RPC_INVALID_PARAMS = -32602,
        RPC_INTERNAL = -32603,
        /* Codes of MCP: */
        RPC_NOT_FOUND = -32002,          /* a resource; until 2025-11-25 */
        RPC_HEADER_MISMATCH = -32020,    /* from 2026-07-28 on */
        RPC_MISSING_CAPABILITY = -32021, /* from 2026-07-28 on */
        RPC_UNSUPPORTED_VERSION = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

#define RPC_ID_MAX 256 /* bytes of a string */

/* Points into the document. */
struct rpc_message {
        enum rpc_kind kind;
        const json_t *id; /* NULL: it has no valid id */
        const char *method;
        const json_t *params; /* an object, or NULL */
};

/* Returns NULL if the text is not JSON; *ret_why is the position and the reason. */
json_t *rpc_parse(const char *text, size_t len, char *ret_why, size_t why_size);
/* Returns 0, or an rpc_code with *ret_why set; then *ret has the id, if there is one. */
int rpc_read(const json_t *document, struct rpc_message *ret, const char **ret_why);

/* Returns a string without NUL characters; NULL: the member is missing or invalid. */
const char *rpc_text(const json_t *object, const char *name);

/* Return messages as text, which the caller frees; NULL: no memory.  They take ownership of data and
 * result. */
char *rpc_error(const json_t *id, int code, const char *message, json_t *data, size_t *ret_len);
char *rpc_result(const json_t *id, json_t *result, size_t *ret_len);
char *rpc_notification(const char *method, json_t *params, size_t *ret_len);
/* Returns the id as JSON text, for callers that write a result as text. */
char *rpc_id_text(const json_t *id);
