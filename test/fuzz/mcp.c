/* test/fuzz/mcp.c -- messages of MCP, from their bytes to their answers.
 *
 * The first byte says in which revision, the rest is a message.  Whatever comes: a request gets one answer,
 * which is JSON-RPC with its id; what needs a sandbox is taken as far as the check of its arguments. */
#include <ftw.h>

#include "front/mcp/mcp.h"
#include "front/tools/tools.h"
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
static struct core core;
static struct api api = {.core = &core};
static struct mcp mcp = {.api = &api, .core = &core};
static unsigned answers;
static char directory[] = "/tmp/cella-fuzz-mcp-XXXXXX";

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
        (void)st, (void)kind, (void)ftw;
        return remove(path);
}

static void remove_log(void)
{
        core.audit = audit_close(core.audit);
        nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Refused requests are in the log, so there must be one. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
        struct cella_err err = {0};
        const struct audit_options options = {
                .directory = directory, .keep_days = 1, .keep_bytes = 16u << 20};
        (void)argc, (void)argv;
        if (!mkdtemp(directory) || audit_open(&options, &core.audit, &core.interrupted, &err) < 0) {
                fprintf(stderr, "cannot open a log: %s\n", err.msg);
                abort();
        }
        atexit(remove_log);
        return 0;
}

static void check(const char *text, size_t len, const json_t *id)
{
        json_t *message = json_loadb(text, len, JSON_ALLOW_NUL, NULL);
        const char *version = rpc_text(message, "jsonrpc");
        if (!message || !version || strcmp(version, "2.0") != 0)
                abort();
        if (id && !json_equal(json_object_get(message, "id"), id))
                abort();
        if (id && !json_object_get(message, "result") == !json_object_get(message, "error"))
                abort();
        json_decref(message);
}

static void on_send(struct mcp_request *request, const char *text, size_t len)
{
        (void)request;
        check(text, len, NULL);
}

static size_t on_room(const struct mcp_request *request)
{
        (void)request;
        return 0;
}

static void on_end(struct mcp_request *request, int status, char *text, size_t len)
{
        answers++;
        if (text)
                check(text, len, request->message.id);
        else if (status != 0)
                abort();
        free(text);
}

static const struct mcp_sink sink = {on_send, on_room, on_end};

/* Requests that would continue in a sandbox or in the log. */
static bool goes_on(const struct rpc_message *m)
{
        const char *name = rpc_text(m->params, "name"), *uri = rpc_text(m->params, "uri");
        struct cella_err err = {0};
        if (!strcmp(m->method, "tools/call")) {
                const struct tool *tool = name ? tool_find(name) : NULL;
                const json_t *arguments = json_object_get(m->params, "arguments");
                if (!tool || (arguments && !json_is_object(arguments)))
                        return false;
                json_t *none = json_object();
                int r = schema_check(tool->input(), arguments ? arguments : none, "", &err);
                json_decref(none);
                return r == 0;
        }
        return !strcmp(m->method, "resources/list") ||
               (!strcmp(m->method, "resources/read") && uri && !strncmp(uri, "cella://executions/", 19));
}

static void take(struct mcp_session *session, json_t *document, enum mcp_revision revision)
{
        struct rpc_message m;
        const char *why = NULL, *unknown = NULL;
        struct caller caller;
        size_t len;
        int code = rpc_read(document, &m, &why);
        if (code != 0) {
                char *text = rpc_error(m.id, code, why, NULL, &len);
                check(text, len, m.id);
                free(text);
                return;
        }
        mcp_revision_of(&m, &unknown);
        if (m.kind != RPC_REQUEST) {
                if (m.kind == RPC_NOTIFICATION)
                        mcp_cancel_by_id(session, json_object_get(m.params, "requestId"));
                return;
        }
        if (goes_on(&m))
                return;
        caller_owner(&caller);
        const struct mcp_origin origin = {
                .mcp = &mcp, .session = session, .caller = &caller, .revision = revision, .sink = &sink};
        answers = 0;
        struct mcp_request *request = mcp_request_new(&origin, json_incref(document), &m);
        mcp_dispatch(request);
        const bool listens = !list_empty(&mcp.listeners);
        if (listens)
                mcp_cancel(list_entry(mcp.listeners.next, struct mcp_request, listener));
        if (answers != 1)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct mcp_session session;
        char why[240], header[64];
        if (size < 1)
                return 0;
        if (!core.sandboxes.next) {
                list_init(&core.sandboxes);
                list_init(&mcp.sessions);
                list_init(&mcp.listeners);
                list_init(&mcp.exchanges);
        }
        session_init(&session, &mcp);
        const enum mcp_revision revision = data[0] % MCP_REVISIONS;
        session.revision = revision;
        json_t *document = rpc_parse((const char *)data + 1, size - 1, why, sizeof why);
        if (document && json_is_array(document)) {
                size_t i;
                json_t *one;
                json_array_foreach (document, i, one)
                        if (i < MCP_BATCH_MAX)
                                take(&session, one, revision);
        } else if (document) {
                take(&session, document, revision);
        }
        snprintf(header, sizeof header, "%.*s", (int)(size - 1 < 60 ? size - 1 : 60), (const char *)data + 1);
        mcp_header_says(header, "Hello", 5);
        json_decref(document);
        json_decref(session.client);
        return 0;
}
