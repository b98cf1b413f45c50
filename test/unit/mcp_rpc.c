/* test/unit/mcp_rpc.c -- what is a JSON-RPC message, what answers look like, and headers that repeat a body.
 */
#include "front/mcp/mcp.h"
#include "test.h"

static int read_text(const char *text, struct rpc_message *m)
{
        char why[240];
        const char *reason = "";
        json_t *document = rpc_parse(text, strlen(text), why, sizeof why);
        if (!document)
                return RPC_PARSE_ERROR;
        int code = rpc_read(document, m, &reason);
        CHECK(code == 0 || reason[0]);
        json_decref(document); /* m points into it: only compare with NULL */
        return code;
}

TEST(messages_are_distinguished)
{
        static const struct {
                const char *text;
                int code;
                enum rpc_kind kind;
        } cases[] = {
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", 0, RPC_REQUEST},
                {"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"a\",\"params\":{}}", 0, RPC_REQUEST},
                {"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}", 0, RPC_NOTIFICATION},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 0, RPC_RESPONSE},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", 0, RPC_RESPONSE},
                {"{\"jsonrpc\":\"2.0\",\"error\":{}}", 0, RPC_RESPONSE},
                {"", RPC_PARSE_ERROR, 0},
                {"{", RPC_PARSE_ERROR, 0},
                {"{} {}", RPC_PARSE_ERROR, 0},
                {"{\"a\":1,\"a\":2}", RPC_PARSE_ERROR, 0},
                {"null", RPC_INVALID_REQUEST, 0},
                {"[]", RPC_INVALID_REQUEST, 0},
                {"{}", RPC_INVALID_REQUEST, 0},
                {"{\"jsonrpc\":\"2.1\",\"id\":1,\"method\":\"a\"}", RPC_INVALID_REQUEST, 0},
                {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"a\"}", RPC_INVALID_REQUEST, 0},
                {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}", RPC_INVALID_REQUEST, 0},
                {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"a\"}", RPC_INVALID_REQUEST, 0},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}", RPC_INVALID_REQUEST, 0},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", RPC_INVALID_REQUEST, 0},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}", RPC_INVALID_REQUEST, 0},
                {"{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID_REQUEST, 0},
                {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[]}", RPC_INVALID_PARAMS, 0},
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
                struct rpc_message m = {0};
                CHECK_INT(read_text(cases[i].text, &m), cases[i].code);
                if (cases[i].code == 0)
                        CHECK_INT(m.kind, cases[i].kind);
        }
}

TEST(depth_is_bounded)
{
        char text[4096] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":{\"a\":";
        struct rpc_message m;
        for (int i = 0; i < 100; i++)
                strcat(text, "[");
        for (int i = 0; i < 100; i++)
                strcat(text, "]");
        strcat(text, "}}");
        CHECK_INT(read_text(text, &m), RPC_INVALID_REQUEST);
}

TEST(answers_have_an_id_only_if_there_was_one)
{
        size_t len;
        json_auto_t *id = json_string("x");
        char *text = rpc_error(id, -32601, "no", NULL, &len);
        CHECK_STR(text, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-32601,\"message\":\"no\"}}");
        CHECK_INT(len, strlen(text));
        free(text);
        text = rpc_error(NULL, -32700, "no", json_pack("{s:i}", "a", 1), &len);
        CHECK_STR(text,
                  "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"no\",\"data\":{\"a\":1}}}");
        free(text);
        text = rpc_result(id, json_object(), &len);
        CHECK_STR(text, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}");
        free(text);
        text = rpc_notification("n", NULL, &len);
        CHECK_STR(text, "{\"jsonrpc\":\"2.0\",\"method\":\"n\"}");
        free(text);
}

TEST(headers_repeat_values)
{
        static const struct {
                const char *header, *value;
                bool same;
        } cases[] = {
                {"a", "a", true},
                {"  a\t", "a", true},
                {"a", "b", false},
                {"A", "a", false},
                {"", "", true},
                {"a", "", false},
                {"=?base64?SGVsbG8=?=", "Hello", true},
                {"=?base64?SGVsbG8?=", "Hello", false},
                {"=?base64?SGVs!!!bG8=?=", "Hello", false},
                {"=?base64?SGVsbG8=", "=?base64?SGVsbG8=", true},
                {"SGVsbG8=", "SGVsbG8=", true},
                {"=?base64?"
                 "?=",
                 "", true}, /* in two: no trigraph */
                {"=?base64?=", "=?base64?=", true},
        };
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
                CHECK_INT(mcp_header_says(cases[i].header, cases[i].value, strlen(cases[i].value)),
                          cases[i].same);
        CHECK(!mcp_header_says(NULL, "a", 1));
        CHECK(!mcp_header_says("a", NULL, 0));
}

TEST(revisions_are_known)
{
        CHECK_INT(mcp_revision_find("2025-11-25"), MCP_2025_11_25);
        CHECK_INT(mcp_revision_find("2026-07-28"), MCP_2026_07_28);
        CHECK_INT(mcp_revision_find("2026-07-2"), -1);
        CHECK_INT(mcp_revision_find(NULL), -1);
        CHECK_INT(mcp_level_find("emergency"), 7);
        CHECK_INT(mcp_level_find("loud"), -1);
}
