/* test/mcp/fixtures.c -- what the official conformance suite wants to find in a server.
 *
 * The suite's scenarios name tools, resources and prompts with fixed behaviour.  They are served here, by an
 * extension that is linked into a server of the tests only (build/test/mcp/cella-server); what carries
 * them (messages, streams, sessions, errors) is the product's. */
#include <stdlib.h>
#include <string.h>

#include "front/mcp/mcp.h"

#define META "io.modelcontextprotocol/"
#define PIXEL                                                                                                \
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
#define SILENCE "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA="
#define DELAY_MS 50

static const char *name_of(const struct mcp_request *request)
{
        const char *name = rpc_text(request->message.params, "name");
        return name ? name : "";
}

static json_t *literal(const char *text)
{
        json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
        if (!value)
                abort();
        return value;
}

static json_t *text_result(const char *text)
{
        return json_pack("{s:[{s:s, s:s}]}", "content", "type", "text", "text", text);
}

static const json_t *client_of(const struct mcp_request *request)
{
        return mcp_is_modern(request) ? json_object_get(request->meta, META "clientCapabilities")
               : request->session     ? request->session->client
                                      : NULL;
}

/* ---- tools with a fixed result ---- */

static const struct {
        const char *name, *result;
} plain[] = {
        {"test_simple_text", "{\"content\": [{\"type\": \"text\", \"text\": \"plain text\"}]}"},
        {"test_image_content",
         "{\"content\": [{\"type\": \"image\", \"mimeType\": \"image/png\", \"data\": \"" PIXEL "\"}]}"},
        {"test_audio_content",
         "{\"content\": [{\"type\": \"audio\", \"mimeType\": \"audio/wav\", \"data\": \"" SILENCE "\"}]}"},
        {"test_embedded_resource",
         "{\"content\": [{\"type\": \"resource\", \"resource\": {\"uri\": \"test://embedded-resource\", "
         "\"mimeType\": \"text/plain\", \"text\": \"embedded\"}}]}"},
        {"test_multiple_content_types",
         "{\"content\": [{\"type\": \"text\", \"text\": \"three of them\"}, {\"type\": \"image\", "
         "\"mimeType\": "
         "\"image/png\", \"data\": \"" PIXEL "\"}, {\"type\": \"resource\", \"resource\": {\"uri\": "
         "\"test://mixed-content-resource\", \"mimeType\": \"application/json\", \"text\": \"{}\"}}]}"},
        {"test_error_handling",
         "{\"isError\": true, \"content\": [{\"type\": \"text\", \"text\": \"fails, as it should\"}]}"},
        {"test_logging_tool", "{\"content\": [{\"type\": \"text\", \"text\": \"nothing was logged\"}]}"},
        {"json_schema_2020_12_tool", "{\"content\": [{\"type\": \"text\", \"text\": \"ok\"}]}"},
};

/* ---- tools that report progress ---- */

struct play {
        uv_timer_t timer;
        struct mcp_request *request;
        unsigned step;
        bool progress;
};

static void on_closed(uv_handle_t *handle)
{
        free(handle->data);
}

static void cancel_play(struct mcp_request *request)
{
        struct play *p = request->data;
        uv_close((uv_handle_t *)&p->timer, on_closed);
}

static void act(uv_timer_t *timer)
{
        static const char *const logs[] = {"begun", "at work", "done"};
        struct play *p = timer->data;
        struct mcp_request *request = p->request;
        json_t *token = json_object_get(request->meta, "progressToken");
        if (p->progress && token && p->step < 3)
                mcp_notify(request, "notifications/progress",
                           json_pack("{s:O, s:i, s:i}", "progressToken", token, "progress", p->step * 50,
                                     "total", 100));
        else if (!p->progress && p->step < 3)
                mcp_log(request, "info", json_string(logs[p->step]));
        if (p->step++ < 3)
                return;
        request->cancel = NULL;
        uv_close((uv_handle_t *)timer, on_closed);
        mcp_reply(request, text_result("played to the end"));
}

static void play(struct mcp_request *request, bool progress)
{
        struct play *p = calloc(1, sizeof *p);
        p->request = request;
        p->progress = progress;
        p->timer.data = p;
        request->data = p;
        request->cancel = cancel_play;
        uv_timer_init(request->mcp->core->loop, &p->timer);
        uv_timer_start(&p->timer, act, 1, DELAY_MS);
}

/* ---- tools that ask the client, as the older revisions do ---- */

static struct {
        char id[32];
        struct mcp_request *request;
} asked[16];

static void cancel_ask(struct mcp_request *request)
{
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
                if (asked[i].request == request)
                        asked[i].request = NULL;
}

static void ask(struct mcp_request *request, const char *method, json_t *params)
{
        static unsigned number;
        for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
                if (asked[i].request)
                        continue;
                snprintf(asked[i].id, sizeof asked[i].id, "ask-%u", ++number);
                asked[i].request = request;
                request->cancel = cancel_ask;
                json_t *message = json_pack("{s:s, s:s, s:s, s:o}", "jsonrpc", "2.0", "id", asked[i].id,
                                            "method", method, "params", params);
                char *text = json_dumps(message, JSON_COMPACT);
                request->sink->send(request, text, strlen(text));
                free(text);
                json_decref(message);
                return;
        }
        json_decref(params);
        mcp_refuse(request, RPC_INTERNAL, NULL, "too many questions");
}

static void respond(struct mcp_session *session, const json_t *response)
{
        const char *id = rpc_text(response, "id");
        for (size_t i = 0; id && i < sizeof asked / sizeof *asked; i++) {
                struct mcp_request *request = asked[i].request;
                if (!request || request->session != session || strcmp(asked[i].id, id) != 0)
                        continue;
                asked[i].request = NULL;
                request->cancel = NULL;
                char *text = json_dumps(json_object_get(response, "result"), JSON_COMPACT | JSON_ENCODE_ANY);
                mcp_reply(request, text_result(text ? text : "refused"));
                free(text);
                return;
        }
}

static const char names_schema[] =
        "{\"type\": \"object\", \"properties\": {\"username\": {\"type\": \"string\"}, \"email\": {\"type\": "
        "\"string\"}}, \"required\": [\"username\", \"email\"]}";
static const char defaults_schema[] =
        "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\", \"default\": \"John "
        "Doe\"}, "
        "\"age\": {\"type\": \"integer\", \"default\": 30}, \"score\": {\"type\": \"number\", \"default\": "
        "95.5}, "
        "\"status\": {\"type\": \"string\", \"enum\": [\"active\", \"inactive\", \"pending\"], \"default\": "
        "\"active\"}, \"verified\": {\"type\": \"boolean\", \"default\": true}}}";
#define WORDS "[\"a\", \"b\", \"c\"]"
#define TITLED "[{\"const\": \"a\", \"title\": \"A\"}, {\"const\": \"b\", \"title\": \"B\"}]"
static const char enums_schema[] =
        "{\"type\": \"object\", \"properties\": {\"untitledSingle\": {\"type\": \"string\", \"enum\": " WORDS
        "}, "
        "\"titledSingle\": {\"type\": \"string\", \"oneOf\": " TITLED
        "}, \"legacyEnum\": {\"type\": \"string\", "
        "\"enum\": " WORDS
        ", \"enumNames\": [\"A\", \"B\", \"C\"]}, \"untitledMulti\": {\"type\": \"array\", "
        "\"items\": {\"type\": \"string\", \"enum\": " WORDS
        "}}, \"titledMulti\": {\"type\": \"array\", \"items\": "
        "{\"anyOf\": " TITLED "}}}}";

static void elicit(struct mcp_request *request, const char *schema)
{
        ask(request, "elicitation/create",
            json_pack("{s:s, s:o}", "message", "please", "requestedSchema", literal(schema)));
}

static bool ask_client(struct mcp_request *request)
{
        const char *name = name_of(request);
        if (mcp_is_modern(request))
                return false;
        if (!strcmp(name, "test_sampling"))
                ask(request, "sampling/createMessage",
                    literal("{\"messages\": [{\"role\": \"user\", \"content\": {\"type\": \"text\", "
                            "\"text\": \"hello\"}}], "
                            "\"maxTokens\": 100}"));
        else if (!strcmp(name, "test_elicitation"))
                elicit(request, names_schema);
        else if (!strcmp(name, "test_elicitation_sep1034_defaults"))
                elicit(request, defaults_schema);
        else if (!strcmp(name, "test_elicitation_sep1330_enums"))
                elicit(request, enums_schema);
        else
                return false;
        return true;
}

/* ---- tools that need input, as the newer revision does ---- */

#define ASK_NAME                                                                                             \
        "{\"method\": \"elicitation/create\", \"params\": {\"message\": \"?\", \"requestedSchema\": "        \
        "{\"type\": "                                                                                        \
        "\"object\", \"properties\": {\"name\": {\"type\": \"string\"}}, \"required\": [\"name\"]}}}"
#define ASK_MODEL                                                                                            \
        "{\"method\": \"sampling/createMessage\", \"params\": {\"messages\": [{\"role\": \"user\", "         \
        "\"content\": "                                                                                      \
        "{\"type\": \"text\", \"text\": \"?\"}}], \"maxTokens\": 50}}"
#define ASK_ROOTS "{\"method\": \"roots/list\", \"params\": {}}"

/* The inputs that a tool needs before it has a result; a state identifies the round. */
static const struct {
        const char *name, *state, *inputs, *next; /* state that it is for; what it asks for; the state then */
} rounds[] = {
        {"test_input_required_result_elicitation", NULL, "{\"user_name\": " ASK_NAME "}", NULL},
        {"test_input_required_result_sampling", NULL, "{\"capital_question\": " ASK_MODEL "}", NULL},
        {"test_input_required_result_list_roots", NULL, "{\"client_roots\": " ASK_ROOTS "}", NULL},
        {"test_input_required_result_request_state", NULL, "{\"confirm\": " ASK_NAME "}", "one"},
        {"test_input_required_result_tampered_state", NULL, "{\"confirm\": " ASK_NAME "}", "one"},
        {"test_input_required_result_multiple_inputs", NULL,
         "{\"user_name\": " ASK_NAME ", \"greeting\": " ASK_MODEL ", \"client_roots\": " ASK_ROOTS "}",
         "one"},
        {"test_input_required_result_multi_round", NULL, "{\"step1\": " ASK_NAME "}", "one"},
        {"test_input_required_result_multi_round", "one", "{\"step2\": " ASK_NAME "}", "two"},
        {"test_input_required_result_prompt", NULL, "{\"user_context\": " ASK_NAME "}", NULL},
        {"test_streaming_elicitation", NULL, "{\"user_name\": " ASK_NAME "}", NULL},
};

static bool is_given(const json_t *given, json_t *inputs)
{
        const char *name;
        json_t *value;
        json_object_foreach (inputs, name, value)
                if (!json_is_object(json_object_get(given, name)))
                        return false;
        return true;
}

static void require_input(struct mcp_request *request, json_t *inputs, const char *state)
{
        mcp_reply(request, json_pack("{s:s, s:o, s:s*}", "resultType", "input_required", "inputRequests",
                                     inputs, "requestState", state));
}

/* The client's state must be one that this server has sent. */
static int find_round(const char *name, const json_t *state)
{
        int issuer = -1;
        for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
                if (strcmp(rounds[i].name, name) != 0)
                        continue;
                if (!state && !rounds[i].state)
                        return (int)i;
                if (state && rounds[i].next && !strcmp(rounds[i].next, json_string_value(state)))
                        issuer = (int)i;
        }
        return issuer;
}

static bool need_input(struct mcp_request *request, json_t *complete)
{
        const json_t *params = request->message.params, *state = json_object_get(params, "requestState"),
                     *given = json_object_get(params, "inputResponses");
        const char *name = name_of(request);
        bool mine = false;
        for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++)
                mine = mine || !strcmp(rounds[i].name, name);
        if (!mine || !mcp_is_modern(request)) {
                json_decref(complete);
                return false;
        }
        int at = state && !json_is_string(state) ? -1 : find_round(name, state);
        if (at < 0) {
                json_decref(complete);
                mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "requestState is not one of ours");
                return true;
        }
        json_t *inputs = literal(rounds[at].inputs);
        if (!is_given(given, inputs)) {
                require_input(request, inputs, rounds[at].next);
                json_decref(complete);
                return true;
        }
        json_decref(inputs);
        /* The next round, if there is one. */
        for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++)
                if (!strcmp(rounds[i].name, name) && rounds[i].state && rounds[at].next &&
                    !strcmp(rounds[i].state, rounds[at].next)) {
                        require_input(request, literal(rounds[i].inputs), rounds[i].next);
                        json_decref(complete);
                        return true;
                }
        mcp_reply(request, complete);
        return true;
}

/* Requests the kinds of input that this client supports. */
static void need_what_it_can(struct mcp_request *request)
{
        json_t *inputs = json_object();
        const json_t *client = client_of(request);
        if (json_object_get(client, "elicitation"))
                json_object_set_new(inputs, "name", literal(ASK_NAME));
        if (json_object_get(client, "sampling"))
                json_object_set_new(inputs, "model", literal(ASK_MODEL));
        require_input(request, inputs, NULL);
}

/* ---- a parameter that a header repeats ---- */

static void mirrored(struct mcp_request *request)
{
        const json_t *value =
                json_object_get(json_object_get(request->message.params, "arguments"), "region");
        if (value && mcp_is_modern(request) &&
            !mcp_header_says(mcp_request_header(request, "Mcp-Param-Region"), json_string_value(value),
                             json_string_length(value)))
                mcp_refuse(request, RPC_HEADER_MISMATCH, NULL, "header mismatch: Mcp-Param-Region");
        else
                mcp_reply(request, text_result("ok"));
}

/* ---- tools/call ---- */

static bool change(struct mcp_request *request)
{
        const char *name = name_of(request);
        if (!strcmp(name, "test_trigger_tool_change"))
                mcp_announce(request->mcp, "toolsListChanged", "notifications/tools/list_changed");
        else if (!strcmp(name, "test_trigger_prompt_change"))
                mcp_announce(request->mcp, "promptsListChanged", "notifications/prompts/list_changed");
        else
                return false;
        mcp_reply(request, text_result("changed"));
        return true;
}

static bool call(struct mcp_request *request)
{
        const char *name = name_of(request);
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
                if (!strcmp(plain[i].name, name)) {
                        mcp_reply(request, literal(plain[i].result));
                        return true;
                }
        if (!strcmp(name, "test_tool_with_logging") || !strcmp(name, "test_tool_with_progress")) {
                play(request, !strcmp(name, "test_tool_with_progress"));
        } else if (!strcmp(name, "test_reconnection")) {
                exchange_hang_up(request);
                play(request, false);
        } else if (!strcmp(name, "test_missing_capability")) {
                if (json_object_get(client_of(request), "sampling"))
                        mcp_reply(request, text_result("ok"));
                else
                        mcp_refuse(request, RPC_MISSING_CAPABILITY,
                                   literal("{\"requiredCapabilities\": {\"sampling\": {}}}"),
                                   "needs sampling");
        } else if (!strcmp(name, "test_input_required_result_capabilities")) {
                need_what_it_can(request);
        } else if (!strcmp(name, "test_header_tool")) {
                mirrored(request);
        } else {
                return change(request) || ask_client(request) || need_input(request, text_result("state-ok"));
        }
        return true;
}

static const char *const tool_names[] = {"test_simple_text",
                                         "test_image_content",
                                         "test_audio_content",
                                         "test_embedded_resource",
                                         "test_multiple_content_types",
                                         "test_error_handling",
                                         "test_logging_tool",
                                         "test_tool_with_logging",
                                         "test_tool_with_progress",
                                         "test_reconnection",
                                         "test_missing_capability",
                                         "test_trigger_tool_change",
                                         "test_trigger_prompt_change",
                                         "test_sampling",
                                         "test_elicitation",
                                         "test_elicitation_sep1034_defaults",
                                         "test_elicitation_sep1330_enums",
                                         "test_input_required_result_capabilities",
                                         "test_streaming_elicitation",
                                         "test_input_required_result_elicitation",
                                         "test_input_required_result_sampling",
                                         "test_input_required_result_list_roots",
                                         "test_input_required_result_request_state",
                                         "test_input_required_result_tampered_state",
                                         "test_input_required_result_multiple_inputs",
                                         "test_input_required_result_multi_round"};

static void list_tools(struct mcp_request *request)
{
        json_t *list = json_array();
        for (size_t i = 0; i < sizeof tool_names / sizeof *tool_names; i++)
                json_array_append_new(list,
                                      json_pack("{s:s, s:s, s:{s:s}}", "name", tool_names[i], "description",
                                                "of the conformance suite", "inputSchema", "type", "object"));
        json_array_append_new(list, literal("{\"name\": \"test_header_tool\", \"description\": \"repeats a "
                                            "parameter in a header\", "
                                            "\"inputSchema\": {\"type\": \"object\", \"properties\": "
                                            "{\"region\": {\"type\": \"string\", "
                                            "\"x-mcp-header\": \"Region\"}}}}"));
        json_array_append_new(list, literal("{\"name\": \"json_schema_2020_12_tool\", \"description\": \"a "
                                            "schema with every keyword\", "
                                            "\"inputSchema\": {\"$schema\": "
                                            "\"https://json-schema.org/draft/2020-12/schema\", \"type\": "
                                            "\"object\", \"$defs\": {\"address\": {\"$anchor\": "
                                            "\"addressDef\", \"type\": \"object\"}}, "
                                            "\"properties\": {\"address\": {\"$ref\": \"#/$defs/address\"}, "
                                            "\"phone\": {\"type\": \"string\"}, "
                                            "\"email\": {\"type\": \"string\"}}, \"allOf\": [{\"anyOf\": "
                                            "[{\"required\": [\"phone\"]}, "
                                            "{\"required\": [\"email\"]}]}], \"if\": {\"required\": "
                                            "[\"phone\"]}, \"then\": {\"required\": "
                                            "[\"phone\"]}, \"else\": {\"required\": [\"email\"]}, "
                                            "\"additionalProperties\": false}}"));
        json_t *result = json_pack("{s:o}", "tools", list);
        mcp_cacheable(request, result, 0, "public");
        mcp_reply(request, result);
}

/* ---- resources ---- */

static void list_resources(struct mcp_request *request)
{
        json_t *result = literal(
                "{\"resources\": [{\"uri\": \"test://static-text\", \"name\": \"text\", \"description\": "
                "\"text\", \"mimeType\": \"text/plain\"}, {\"uri\": \"test://static-binary\", \"name\": "
                "\"binary\", \"description\": \"bytes\", \"mimeType\": \"image/png\"}]}");
        mcp_cacheable(request, result, 0, "private");
        mcp_reply(request, result);
}

static bool read_resource(struct mcp_request *request)
{
        static const char front[] = "test://template/";
        const char *uri = rpc_text(request->message.params, "uri");
        json_t *result = NULL;
        if (!uri)
                return false;
        if (!strcmp(uri, "test://static-text"))
                result = json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri, "mimeType", "text/plain",
                                   "text", "static");
        else if (!strcmp(uri, "test://static-binary"))
                result = json_pack("{s:[{s:s, s:s, s:s}]}", "contents", "uri", uri, "mimeType", "image/png",
                                   "blob", PIXEL);
        else if (!strncmp(uri, front, strlen(front)))
                result = json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", uri, "mimeType",
                                   "application/json", "text",
                                   json_sprintf("{\"id\": \"%.*s\"}", (int)strcspn(uri + strlen(front), "/"),
                                                uri + strlen(front)));
        else
                return false;
        mcp_cacheable(request, result, 0, "private");
        mcp_reply(request, result);
        return true;
}

/* ---- prompts ---- */

static void list_prompts(struct mcp_request *request)
{
        json_t *result = literal(
                "{\"prompts\": [{\"name\": \"test_simple_prompt\", \"description\": \"simple\"}, {\"name\": "
                "\"test_prompt_with_arguments\", \"description\": \"two arguments\", \"arguments\": "
                "[{\"name\": \"arg1\", "
                "\"required\": true}, {\"name\": \"arg2\", \"required\": true}]}, {\"name\": "
                "\"test_prompt_with_embedded_resource\", \"description\": \"a resource\", \"arguments\": "
                "[{\"name\": "
                "\"resourceUri\", \"required\": true}]}, {\"name\": \"test_prompt_with_image\", "
                "\"description\": \"a "
                "picture\"}, {\"name\": \"test_input_required_result_prompt\", \"description\": \"needs "
                "input\"}]}");
        mcp_cacheable(request, result, 0, "public");
        mcp_reply(request, result);
}

static json_t *prompt(json_t *content)
{
        return json_pack("{s:[{s:s, s:o}]}", "messages", "role", "user", "content", content);
}

static bool get_prompt(struct mcp_request *request)
{
        const char *name = name_of(request);
        const json_t *arguments = json_object_get(request->message.params, "arguments");
        json_t *simple = json_pack("{s:s, s:s}", "type", "text", "text", "simple");
        if (!strcmp(name, "test_simple_prompt")) {
                mcp_reply(request, prompt(simple));
                return true;
        }
        if (need_input(request, prompt(simple)))
                return true;
        if (!strcmp(name, "test_prompt_with_arguments"))
                mcp_reply(request, prompt(json_pack("{s:s, s:o}", "type", "text", "text",
                                                    json_sprintf("%s and %s", rpc_text(arguments, "arg1"),
                                                                 rpc_text(arguments, "arg2")))));
        else if (!strcmp(name, "test_prompt_with_embedded_resource"))
                mcp_reply(request, prompt(json_pack("{s:s, s:{s:s, s:s, s:s}}", "type", "resource",
                                                    "resource", "uri", rpc_text(arguments, "resourceUri"),
                                                    "mimeType", "text/plain", "text", "in it")));
        else if (!strcmp(name, "test_prompt_with_image"))
                mcp_reply(request, prompt(json_pack("{s:s, s:s, s:s}", "type", "image", "mimeType",
                                                    "image/png", "data", PIXEL)));
        else
                return false;
        return true;
}

/* ---- the extension ---- */

static bool handle(struct mcp_request *request)
{
        const char *method = request->message.method;
        if (!strcmp(method, "tools/list"))
                list_tools(request);
        else if (!strcmp(method, "tools/call"))
                return call(request);
        else if (!strcmp(method, "resources/list"))
                list_resources(request);
        else if (!strcmp(method, "resources/read"))
                return read_resource(request);
        else if (!strcmp(method, "prompts/list"))
                list_prompts(request);
        else if (!strcmp(method, "prompts/get"))
                return get_prompt(request);
        else if (!mcp_is_modern(request) &&
                 (!strcmp(method, "resources/subscribe") || !strcmp(method, "resources/unsubscribe")))
                mcp_reply(request, json_object());
        else
                return false;
        return true;
}

static void capabilities(json_t *all, bool modern)
{
        json_object_set_new(all, "prompts", json_pack("{s:b}", "listChanged", 1));
        json_object_set_new(all, "tools", json_pack("{s:b}", "listChanged", 1));
        if (!modern)
                json_object_set_new(all, "resources", json_pack("{s:b}", "subscribe", 1));
}

static const struct mcp_extension fixtures = {capabilities, handle, respond};

__attribute__((constructor)) static void extend(void)
{
        mcp_extension = &fixtures;
}
