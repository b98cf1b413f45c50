/* front/mcp/http.c -- /mcp: Streamable HTTP.
 *
 * The request was authorised before (Host, Origin, key), as for every route.  This file checks that it is a
 * message, which era it belongs to, and that its headers agree with its body: a proxy may have used them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "core/sandbox/queue.h"
#include "front/mcp/mcp.h"

#define META "io.modelcontextprotocol/"
#define VERSION_HEADER "MCP-Protocol-Version"
#define SESSION_HEADER "Mcp-Session-Id"

static void mcp_http_refuse(struct call *call, int status, const json_t *id, int code, json_t *data,
                            const char *message)
{
        size_t len;
        char *text = rpc_error(id, code, message, data, &len);
        if (text)
                api_reply_text(call, status, text, len);
        else
                http_reply(call->request, 500, NULL, NULL, 0);
}

static void refuse_version(struct call *call, const json_t *id, const char *requested)
{
        char shown[64];
        snprintf(shown, sizeof shown, "%.60s", requested);
        for (char *c = shown; *c; c++)
                if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
                        *c = '?';
        mcp_http_refuse(call, 400, id, RPC_UNSUPPORTED_VERSION,
                        json_pack("{s:o, s:s}", "supported", mcp_revision_list(), "requested", shown),
                        "unsupported protocol version");
}

static void refuse_err(struct call *call, const json_t *id, const struct cella_err *err)
{
        char seconds[16];
        if (err->kind == CELLA_OVER_CAPACITY) {
                snprintf(seconds, sizeof seconds, "%u", queue_retry_after_s(call->core));
                http_add_header(call->request, "Retry-After", seconds);
        }
        mcp_http_refuse(call, api_status(err->kind), id, RPC_INTERNAL,
                        json_pack("{s:s, s:s}", "kind", cella_kind_name(err->kind), "hint", err->hint),
                        err->msg);
}

/* ---- headers ---- */

bool mcp_header_says(const char *header, const char *value, size_t len)
{
        static const char front[] = "=?base64?", back[] = "?=";
        size_t n;
        if (!header || !value)
                return false;
        while (*header == ' ' || *header == '\t')
                header++;
        for (n = strlen(header); n > 0 && (header[n - 1] == ' ' || header[n - 1] == '\t'); n--)
                continue;
        const size_t around = sizeof front - 1 + sizeof back - 1;
        if (n < around || memcmp(header, front, sizeof front - 1) != 0 ||
            memcmp(header + n - (sizeof back - 1), back, sizeof back - 1) != 0)
                return n == len && !memcmp(header, value, len);
        char *decoded = malloc(n);
        ssize_t got = decoded ? base64_decode(header + sizeof front - 1, n - around, decoded, n) : -1;
        const bool same = got >= 0 && (size_t)got == len && !memcmp(decoded, value, len);
        free(decoded);
        return same;
}

static bool mirrors(struct call *call, const char *name, const json_t *value)
{
        return mcp_header_says(http_header(call->request, name), json_string_value(value),
                               json_string_length(value));
}

/* Returns the parameter that a header must repeat; NULL: none. */
static const char *named_by(const char *method)
{
        return !strcmp(method, "tools/call") || !strcmp(method, "prompts/get") ? "name"
               : !strcmp(method, "resources/read")                             ? "uri"
                                                                               : NULL;
}

/* Returns false if the request was refused. */
static bool check_headers(struct call *call, const json_t *document, const struct rpc_message *m)
{
        const char *name = named_by(m->method);
        const json_t *value = name ? json_object_get(m->params, name) : NULL;
        if (!mirrors(call, "Mcp-Method", json_object_get(document, "method"))) {
                mcp_http_refuse(call, 400, m->id, RPC_HEADER_MISMATCH, NULL,
                                "header mismatch: Mcp-Method must be the method");
                return false;
        }
        if (json_is_string(value) && !mirrors(call, "Mcp-Name", value)) {
                mcp_http_refuse(call, 400, m->id, RPC_HEADER_MISMATCH, NULL,
                                "header mismatch: Mcp-Name must be the name, or the URI, in params");
                return false;
        }
        return true;
}

/* ---- from 2026-07-28 on ---- */

static bool check_modern(struct call *call, const json_t *document, const struct rpc_message *m)
{
        const char *header = http_header(call->request, VERSION_HEADER), *unknown;
        const json_t *meta = json_object_get(m->params, "_meta");
        const char *name = rpc_text(meta, META "protocolVersion");
        if (!header) {
                mcp_http_refuse(call, 400, m->id, RPC_HEADER_MISMATCH, NULL,
                                "header mismatch: " VERSION_HEADER " is missing");
                return false;
        }
        if (!name || !json_is_object(json_object_get(meta, META "clientCapabilities"))) {
                mcp_http_refuse(call, 400, m->id, RPC_INVALID_PARAMS, NULL,
                                "params._meta must have " META "protocolVersion and " META
                                "clientCapabilities");
                return false;
        }
        if (!mcp_header_says(header, name, strlen(name))) {
                mcp_http_refuse(call, 400, m->id, RPC_HEADER_MISMATCH, NULL,
                                "header mismatch: " VERSION_HEADER " is not what params._meta says");
                return false;
        }
        if (mcp_revision_of(m, &unknown) < MCP_2026_07_28) {
                refuse_version(call, m->id, name);
                return false;
        }
        return check_headers(call, document, m);
}

static void mcp_http_run(struct call *call, struct mcp_session *session, enum mcp_revision revision,
                         json_t *document, const struct rpc_message *m)
{
        struct mcp *mcp = call->api->mcp;
        struct exchange *x = exchange_new(mcp, call, session, 0);
        const struct mcp_origin origin = {.mcp = mcp,
                                          .session = session,
                                          .caller = &call->caller,
                                          .revision = revision,
                                          .sink = &exchange_sink,
                                          .transport = x};
        if (x)
                exchange_run(x, mcp_request_new(&origin, json_incref(document), m));
        else
                mcp_http_refuse(call, 500, m->id, RPC_INTERNAL, NULL, "out of memory");
}

static void post_modern(struct call *call, json_t *document, const struct rpc_message *m)
{
        if (m->kind == RPC_NOTIFICATION)
                http_reply(call->request, 202, NULL, NULL, 0); /* no notification has an effect here */
        else if (check_modern(call, document, m))
                mcp_http_run(call, NULL, MCP_2026_07_28, document, m);
}

/* ---- before 2026-07-28 ---- */

/* Returns the session that the headers name; NULL: the request was refused. */
static struct mcp_session *find_session(struct call *call, const json_t *id)
{
        const char *name = http_header(call->request, SESSION_HEADER);
        const char *version = http_header(call->request, VERSION_HEADER);
        struct mcp_session *session = name ? session_find(call->api->mcp, &call->caller, name) : NULL;
        if (!name)
                mcp_http_refuse(call, 400, id, RPC_INVALID_REQUEST, NULL,
                                SESSION_HEADER " is required: it comes with the answer to initialize");
        else if (!session)
                mcp_http_refuse(call, 404, id, RPC_INVALID_REQUEST, NULL,
                                "no such session: begin with initialize");
        else if (version && mcp_revision_find(version) < 0)
                refuse_version(call, id, version);
        else
                return session;
        return NULL;
}

static void receive_notification(struct mcp_session *session, const struct rpc_message *m)
{
        if (!strcmp(m->method, "notifications/cancelled"))
                mcp_cancel_by_id(session, json_object_get(m->params, "requestId"));
}

static void mcp_http_receive(struct mcp_session *session, const json_t *document, const struct rpc_message *m)
{
        if (m->kind == RPC_NOTIFICATION)
                receive_notification(session, m);
        else if (mcp_extension)
                mcp_extension->respond(session, document); /* the product sends no requests */
}

static void begin_session(struct call *call, json_t *document, const struct rpc_message *m)
{
        struct mcp_session *session = NULL;
        struct cella_err err = {0};
        if (session_new(call->api->mcp, &call->caller, &session, &err) < 0) {
                refuse_err(call, m->id, &err);
                return;
        }
        http_add_header(call->request, SESSION_HEADER, session->id);
        mcp_http_run(call, session, session->revision, document, m);
}

static void post_older(struct call *call, json_t *document, const struct rpc_message *m)
{
        if (m->kind == RPC_REQUEST && !strcmp(m->method, "initialize")) {
                begin_session(call, document, m);
                return;
        }
        struct mcp_session *session = find_session(call, m->id);
        if (!session)
                return;
        if (m->kind == RPC_REQUEST) {
                mcp_http_run(call, session, session->revision, document, m);
                return;
        }
        mcp_http_receive(session, document, m);
        http_reply(call->request, 202, NULL, NULL, 0);
}

/* One message of a batch. */
static void run_part(struct exchange *x, const struct call *call, struct mcp_session *session,
                     json_t *document)
{
        const struct mcp_origin origin = {.mcp = session->mcp,
                                          .session = session,
                                          .caller = &call->caller,
                                          .revision = session->revision,
                                          .sink = &exchange_sink,
                                          .transport = x};
        struct rpc_message m;
        const char *why = NULL;
        size_t len = 0;
        char *text = NULL;
        int code = rpc_read(document, &m, &why);
        if (code == 0 && m.kind == RPC_REQUEST && !strcmp(m.method, "initialize")) {
                code = RPC_INVALID_REQUEST;
                why = "initialize cannot be part of a batch";
        }
        if (code == 0 && m.kind == RPC_REQUEST) {
                exchange_run(x, mcp_request_new(&origin, json_incref(document), &m));
                return;
        }
        if (code != 0)
                text = rpc_error(m.id, code, why, NULL, &len);
        else
                mcp_http_receive(session, document, &m);
        exchange_answer(x, text, len);
}

static void post_batch(struct call *call, json_t *document)
{
        const size_t n = json_array_size(document);
        const char *name = http_header(call->request, SESSION_HEADER);
        struct mcp_session *session = name ? session_find(call->api->mcp, &call->caller, name) : NULL;
        if (!session || session->revision != MCP_2025_03_26) {
                mcp_http_refuse(call, 400, NULL, RPC_INVALID_REQUEST, NULL,
                                "batches are not part of this revision");
                return;
        }
        if (n == 0 || n > MCP_BATCH_MAX) {
                mcp_http_refuse(call, 400, NULL, RPC_INVALID_REQUEST, NULL, "a batch has 1 to 32 messages");
                return;
        }
        struct exchange *x = exchange_new(session->mcp, call, session, (unsigned)n);
        for (size_t i = 0; x && i < n; i++)
                run_part(x, call, session, json_array_get(document, i));
        if (!x)
                mcp_http_refuse(call, 500, NULL, RPC_INTERNAL, NULL, "out of memory");
}

/* ---- the routes ---- */

/* The request itself contains the revision; otherwise its header does. */
static bool is_modern(const struct call *call, const struct rpc_message *m)
{
        const char *header = http_header(call->request, VERSION_HEADER);
        const json_t *meta = json_object_get(m->params, "_meta");
        return json_object_get(meta, META "protocolVersion") || mcp_revision_find(header) >= MCP_2026_07_28;
}

static void mcp_http_post_document(struct call *call, json_t *document)
{
        struct rpc_message m;
        const char *why = NULL;
        if (json_is_array(document)) {
                post_batch(call, document);
                return;
        }
        int code = rpc_read(document, &m, &why);
        if (code != 0)
                mcp_http_refuse(call, 400, m.id, code, NULL, why);
        else if (is_modern(call, &m) && m.kind == RPC_RESPONSE)
                mcp_http_refuse(call, 400, m.id, RPC_INVALID_REQUEST, NULL,
                                "clients of this revision send no responses");
        else if (is_modern(call, &m))
                post_modern(call, document, &m);
        else
                post_older(call, document, &m);
}

void mcp_http_post(struct call *call, json_t *body)
{
        char why[240];
        size_t len;
        const char *text = http_body(call->request, &len);
        json_t *document = rpc_parse(text, len, why, sizeof why);
        (void)body;
        if (document)
                mcp_http_post_document(call, document);
        else
                mcp_http_refuse(call, 400, NULL, RPC_PARSE_ERROR, NULL, why);
        json_decref(document);
}

/* The server starts no messages of its own: GET only resumes a stream. */
void mcp_http_get(struct call *call, json_t *body)
{
        const char *last = http_header(call->request, "Last-Event-ID");
        (void)body;
        if (!last || !http_header(call->request, SESSION_HEADER)) {
                http_add_header(call->request, "Allow", "POST, DELETE");
                mcp_http_refuse(call, 405, NULL, RPC_INVALID_REQUEST, NULL,
                                "GET only continues a stream: Last-Event-ID");
                return;
        }
        struct mcp_session *session = find_session(call, NULL);
        if (session && exchange_resume(session, call, last) < 0)
                mcp_http_refuse(call, 400, NULL, RPC_INVALID_REQUEST, NULL,
                                "no such stream, or it ended too long ago");
}

void mcp_http_delete(struct call *call, json_t *body)
{
        struct mcp_session *session = find_session(call, NULL);
        (void)body;
        if (!session)
                return;
        session_end(session);
        api_reply_nothing(call);
}
