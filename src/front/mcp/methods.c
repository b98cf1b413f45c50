/* front/mcp/methods.c -- the methods that need no sandbox. */
#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "front/mcp/mcp.h"
#include "front/tools/tools.h"

#define META "io.modelcontextprotocol/"
#define TOOLS_TTL_MS 3600000 /* the tools are part of the program */
#define PAGE 50

static const char instructions[] =
        "Runs code in isolated sandboxes on this machine. Without 'session' a call leaves nothing behind; "
        "with "
        "it, files in /workspace stay for later calls of the same session, and execute_python with 'context' "
        "keeps variables, too. There is no network unless the operator allowed it. Files that code wrote are "
        "read with read_file, or as resources (cella://sandboxes/...); what ran is under "
        "cella://executions/.";

static json_t *mcp_methods_capabilities(bool modern)
{
        json_t *all = json_pack("{s:{}, s:{}, s:{}, s:{}, s:{}}", "tools", "resources", "prompts",
                                "completions", "logging");
        if (mcp_extension)
                mcp_extension->capabilities(all, modern);
        return all;
}

/* ---- the beginning of a session ---- */

static void refuse_initialize(struct mcp_request *request, const char *why)
{
        struct mcp_session *session = request->session;
        mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "%s", why);
        if (session && session->id[0])
                session_end(session);
}

void mcp_initialize(struct mcp_request *request)
{
        struct mcp_session *session = request->session;
        const json_t *params = request->message.params;
        const char *wanted = rpc_text(params, "protocolVersion");
        json_t *client = json_object_get(params, "capabilities");
        int revision = mcp_revision_find(wanted);
        if (!wanted) {
                refuse_initialize(request, "protocolVersion must be a string");
                return;
        }
        if (!json_is_object(client) || !json_is_object(json_object_get(params, "clientInfo"))) {
                refuse_initialize(request, "capabilities and clientInfo must be objects");
                return;
        }
        /* An unknown revision, or one without sessions, becomes the newest with sessions. */
        if (revision < 0 || revision >= MCP_2026_07_28)
                revision = MCP_2025_11_25;
        if (session) {
                session->revision = (enum mcp_revision)revision;
                json_decref(session->client);
                session->client = json_incref(client);
                const char *name = rpc_text(json_object_get(params, "clientInfo"), "name");
                snprintf(session->agent, sizeof session->agent, "%s", name ? name : "");
        }
        mcp_reply(request, json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion", mcp_revisions[revision],
                                     "capabilities", mcp_methods_capabilities(false), "serverInfo",
                                     mcp_server_info(), "instructions", instructions));
}

void mcp_ping(struct mcp_request *request)
{
        mcp_reply(request, json_object());
}

void mcp_discover(struct mcp_request *request)
{
        json_t *result =
                json_pack("{s:o, s:o, s:s}", "supportedVersions", mcp_revision_list(), "capabilities",
                          mcp_methods_capabilities(true), "instructions", instructions);
        mcp_cacheable(request, result, TOOLS_TTL_MS, "public");
        mcp_reply(request, result);
}

void mcp_set_level(struct mcp_request *request)
{
        int level = mcp_level_find(rpc_text(request->message.params, "level"));
        if (level < 0) {
                mcp_refuse(request, RPC_INVALID_PARAMS, NULL,
                           "level must be one of debug, info, notice, warning, error, critical, alert, "
                           "emergency");
                return;
        }
        if (request->session)
                request->session->level = level;
        mcp_reply(request, json_object());
}

/* ---- listening for changes ---- */

/* The request lasts until it is cancelled.  No list of this server changes, so it only accepts subscriptions
 * that the extension of the tests supports. */
void mcp_listen(struct mcp_request *request)
{
        static const struct {
                const char *wanted, *feature;
        } kinds[] = {{"toolsListChanged", "tools"}, {"promptsListChanged", "prompts"}};
        const json_t *filter = json_object_get(request->message.params, "notifications");
        json_t *granted = json_object(), *all = mcp_methods_capabilities(true);
        if (!json_is_object(filter)) {
                json_decref(granted);
                json_decref(all);
                mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "notifications must be an object");
                return;
        }
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
                if (json_is_true(json_object_get(filter, kinds[i].wanted)) &&
                    json_is_true(json_object_get(json_object_get(all, kinds[i].feature), "listChanged")))
                        json_object_set_new(granted, kinds[i].wanted, json_true());
        json_decref(all);
        list_add(&request->mcp->listeners, &request->listener);
        mcp_notify(request, "notifications/subscriptions/acknowledged",
                   json_pack("{s:{s:O}, s:o}", "_meta", META "subscriptionId", request->message.id,
                             "notifications", granted));
}

/* ---- tools ---- */

static json_t *annotations(const struct tool *tool)
{
        return json_pack("{s:s, s:b, s:b, s:b, s:b}", "title", tool->title, "readOnlyHint",
                         (int)!!(tool->hints & TOOL_READS), "destructiveHint",
                         (int)!!(tool->hints & TOOL_DESTROYS), "idempotentHint",
                         (int)!!(tool->hints & (TOOL_READS | TOOL_REPEATABLE)), "openWorldHint", 0);
}

static json_t *mcp_methods_describe(const struct tool *tool)
{
        return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:{s:f}}", "name", tool->name, "title", tool->title,
                         "description", tool->description, "inputSchema", tool_input_schema(tool),
                         "outputSchema", tool_output_schema(tool), "annotations", annotations(tool), "_meta",
                         "cella/cost", TOOL_COST);
}

static json_t *describe_all(struct mcp *mcp)
{
        if (mcp->tools)
                return mcp->tools;
        mcp->tools = json_array();
        for (size_t i = 0; i < tools_len; i++)
                json_array_append_new(mcp->tools, mcp_methods_describe(&tools[i]));
        return mcp->tools;
}

void mcp_tools_list(struct mcp_request *request)
{
        const json_t *cursor = json_object_get(request->message.params, "cursor");
        const char *text = rpc_text(request->message.params, "cursor");
        uint64_t from = 0;
        if (cursor && (!text || parse_count(text, &from) < 0 || from == 0 || from >= tools_len)) {
                mcp_refuse(request, RPC_INVALID_PARAMS, NULL, "cursor must come from an earlier answer");
                return;
        }
        json_t *all = describe_all(request->mcp), *list = json_array();
        for (size_t i = from; i < tools_len && i < from + PAGE; i++)
                json_array_append(list, json_array_get(all, i));
        json_t *result = json_pack("{s:o}", "tools", list);
        if (from + PAGE < tools_len)
                json_object_set_new(result, "nextCursor",
                                    json_sprintf("%llu", (unsigned long long)from + PAGE));
        mcp_cacheable(request, result, TOOLS_TTL_MS, "public");
        mcp_reply(request, result);
}
