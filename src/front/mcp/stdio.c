/* front/mcp/stdio.c -- MCP as lines on a socket, for the standard input and output of `cella mcp`.
 *
 * There is one client, the owner.  Both eras are supported; each request says which one it belongs to.  When
 * the client closes its end, pending requests are still answered; then the socket is closed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "front/mcp/mcp.h"

#define META "io.modelcontextprotocol/"
#define ROOM_BYTES (1024u * 1024) /* unsent bytes; above this only answers are sent */

struct mcp_stdio {
        struct mcp *mcp;
        uv_pipe_t pipe;
        struct mcp_session session;
        struct caller caller;
        char *line;
        size_t len, size;
        bool skipping; /* the rest of a line that was too long */
        bool waits, ended, closing, closed, forgotten;
};

struct writing {
        uv_write_t request;
        struct mcp_stdio *stdio;
        char *text;
};

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer);
static void end_listeners(struct mcp_stdio *s);
static void close_when_done(struct mcp_stdio *s);

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
        static char buffer[65536]; /* its content is used before the next call */
        (void)handle;
        (void)suggested;
        *ret = uv_buf_init(buffer, sizeof buffer);
}

/* ---- out ---- */

/* The client has closed its end and cannot receive answers. */
static void mcp_stdio_give_up(struct mcp_stdio *s)
{
        uv_read_stop((uv_stream_t *)&s->pipe);
        s->ended = true;
        while (!list_empty(&s->session.requests))
                mcp_cancel(list_entry(s->session.requests.next, struct mcp_request, link));
}

static void on_written(uv_write_t *request, int status)
{
        struct writing *w = request->data;
        struct mcp_stdio *s = w->stdio;
        free(w->text);
        free(w);
        if (s->closing)
                return;
        if (status < 0)
                mcp_stdio_give_up(s);
        if (s->waits && uv_stream_get_write_queue_size((uv_stream_t *)&s->pipe) < ROOM_BYTES / 2) {
                s->waits = false;
                if (!s->ended)
                        uv_read_start((uv_stream_t *)&s->pipe, on_alloc, on_read);
        }
        close_when_done(s);
}

/* Takes ownership of the text. */
static void put_line(struct mcp_stdio *s, char *text, size_t len)
{
        struct writing *w = calloc(1, sizeof *w);
        char *line = w ? realloc(text, len + 1) : NULL;
        if (!line || s->closing) {
                free(line ? line : text);
                free(w);
                return;
        }
        line[len] = '\n';
        *w = (struct writing){.stdio = s, .text = line};
        w->request.data = w;
        uv_buf_t buffer = uv_buf_init(line, (unsigned)(len + 1));
        if (uv_write(&w->request, (uv_stream_t *)&s->pipe, &buffer, 1, on_written) < 0) {
                free(line);
                free(w);
                return;
        }
        if (!s->waits && !s->ended && uv_stream_get_write_queue_size((uv_stream_t *)&s->pipe) > ROOM_BYTES) {
                s->waits = true;
                uv_read_stop((uv_stream_t *)&s->pipe);
        }
}

static void on_send(struct mcp_request *request, const char *text, size_t len)
{
        char *copy = malloc(len + 1);
        if (!copy)
                return;
        memcpy(copy, text, len);
        put_line(request->transport, copy, len);
}

static size_t mcp_stdio_on_room(const struct mcp_request *request)
{
        const struct mcp_stdio *s = request->transport;
        size_t queued = uv_stream_get_write_queue_size((const uv_stream_t *)&s->pipe);
        return queued < ROOM_BYTES ? ROOM_BYTES - queued : 0;
}

static void mcp_stdio_on_end(struct mcp_request *request, int status, char *text, size_t len)
{
        struct mcp_stdio *s = request->transport;
        (void)status;
        if (text)
                put_line(s, text, len);
        close_when_done(s);
}

static const struct mcp_sink sink = {on_send, mcp_stdio_on_room, mcp_stdio_on_end};

static void mcp_stdio_refuse(struct mcp_stdio *s, const json_t *id, int code, json_t *data,
                             const char *message)
{
        size_t len;
        char *text = rpc_error(id, code, message, data, &len);
        if (text)
                put_line(s, text, len);
}

/* ---- in ---- */

/* Whether the request may begin, and its revision. */
static bool mcp_stdio_check(struct mcp_stdio *s, const struct rpc_message *m, int *ret_revision)
{
        const char *unknown = NULL;
        const json_t *meta = json_object_get(m->params, "_meta");
        int revision = mcp_revision_of(m, &unknown);
        *ret_revision = revision < 0 ? (int)s->session.revision : revision;
        if (!json_object_get(meta, META "protocolVersion"))
                return true; /* a request of the older revisions */
        if (unknown || revision < MCP_2026_07_28) {
                mcp_stdio_refuse(s, m->id, RPC_UNSUPPORTED_VERSION,
                                 json_pack("{s:o, s:s}", "supported", mcp_revision_list(), "requested",
                                           unknown         ? unknown
                                           : revision >= 0 ? mcp_revisions[revision]
                                                           : ""),
                                 "unsupported protocol version");
                return false;
        }
        if (!json_is_object(json_object_get(meta, META "clientCapabilities"))) {
                mcp_stdio_refuse(s, m->id, RPC_INVALID_PARAMS, NULL,
                                 "params._meta must have " META "clientCapabilities");
                return false;
        }
        return true;
}

static void take_message(struct mcp_stdio *s, json_t *document)
{
        struct rpc_message m;
        const char *why = NULL;
        int revision = 0, code = rpc_read(document, &m, &why);
        if (code != 0) {
                mcp_stdio_refuse(s, m.id, code, NULL, why);
        } else if (m.kind == RPC_RESPONSE) {
                if (mcp_extension)
                        mcp_extension->respond(&s->session, document);
        } else if (m.kind == RPC_NOTIFICATION) {
                if (!strcmp(m.method, "notifications/cancelled"))
                        mcp_cancel_by_id(&s->session, json_object_get(m.params, "requestId"));
        } else if (mcp_stdio_check(s, &m, &revision)) {
                const struct mcp_origin origin = {.mcp = s->mcp,
                                                  .session = &s->session,
                                                  .caller = &s->caller,
                                                  .revision = (enum mcp_revision)revision,
                                                  .sink = &sink,
                                                  .transport = s};
                struct mcp_request *request = mcp_request_new(&origin, json_incref(document), &m);
                if (request)
                        mcp_dispatch(request);
        }
}

/* Batches, in the one revision that has them.  Each message is answered by itself, which its clients
 * accept. */
static void take_batch(struct mcp_stdio *s, const json_t *batch)
{
        size_t i;
        json_t *document;
        if (s->session.revision != MCP_2025_03_26) {
                mcp_stdio_refuse(s, NULL, RPC_INVALID_REQUEST, NULL, "batches are not part of this revision");
                return;
        }
        if (json_array_size(batch) == 0 || json_array_size(batch) > MCP_BATCH_MAX) {
                mcp_stdio_refuse(s, NULL, RPC_INVALID_REQUEST, NULL, "a batch has 1 to 32 messages");
                return;
        }
        json_array_foreach (batch, i, document)
                take_message(s, document);
}

static void mcp_stdio_take_line(struct mcp_stdio *s, const char *text, size_t len)
{
        char why[240];
        size_t blank = 0;
        while (blank < len && strchr(" \t\r", text[blank]))
                blank++;
        if (blank == len)
                return;
        json_t *document = rpc_parse(text, len, why, sizeof why);
        if (!document)
                mcp_stdio_refuse(s, NULL, RPC_PARSE_ERROR, NULL, why);
        else if (json_is_array(document))
                take_batch(s, document);
        else
                take_message(s, document);
        json_decref(document);
}

/* Adds a part of a line to the buffer. */
static void mcp_stdio_collect(struct mcp_stdio *s, const char *data, size_t len)
{
        if (s->skipping || len == 0)
                return;
        if (s->len + len > MCP_MESSAGE_MAX) {
                s->skipping = true;
                s->len = 0;
                mcp_stdio_refuse(s, NULL, RPC_INVALID_REQUEST, NULL, "the message is too long");
                return;
        }
        if (s->len + len > s->size) {
                size_t size = (s->len + len) * 2;
                char *grown = realloc(s->line, size);
                if (!grown) {
                        s->skipping = true;
                        return;
                }
                s->line = grown;
                s->size = size;
        }
        memcpy(s->line + s->len, data, len);
        s->len += len;
}

static void finish_line(struct mcp_stdio *s)
{
        if (!s->skipping && s->len > 0)
                mcp_stdio_take_line(s, s->line, s->len);
        s->skipping = false;
        s->len = 0;
        if (s->size > 1024 * 1024) {
                free(s->line);
                s->line = NULL;
                s->size = 0;
        }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
        struct mcp_stdio *s = stream->data;
        if (n < 0) {
                uv_read_stop(stream);
                finish_line(s); /* the last line may lack its line break */
                end_listeners(s);
                s->ended = true;
                close_when_done(s);
                return;
        }
        for (size_t at = 0; at < (size_t)n && !s->closing;) {
                const char *from = buffer->base + at, *end = memchr(from, '\n', (size_t)n - at);
                size_t len = end ? (size_t)(end - from) : (size_t)n - at;
                mcp_stdio_collect(s, from, len);
                if (end)
                        finish_line(s);
                at += len + (end ? 1 : 0);
        }
}

/* ---- the end ---- */

/* Requests that listen for changes would never end. */
static void end_listeners(struct mcp_stdio *s)
{
        list_each (at, &s->mcp->listeners, other) {
                struct mcp_request *request = list_entry(at, struct mcp_request, listener);
                if (request->transport == s)
                        mcp_reply(request, json_pack("{s:{s:O}}", "_meta", META "subscriptionId",
                                                     request->message.id));
        }
}

static void mcp_stdio_on_closed(uv_handle_t *handle)
{
        struct mcp_stdio *s = handle->data;
        s->closed = true;
        if (s->forgotten)
                free(s);
}

static void close_pipe(struct mcp_stdio *s)
{
        if (!s->closing)
                uv_close((uv_handle_t *)&s->pipe, mcp_stdio_on_closed);
        s->closing = true;
}

static void close_when_done(struct mcp_stdio *s)
{
        if (!s->ended || s->closing)
                return;
        if (s->session.n_requests > 0 || uv_stream_get_write_queue_size((uv_stream_t *)&s->pipe) > 0)
                return;
        close_pipe(s);
}

int mcp_stdio_start(struct mcp *mcp, int fd, const char *session, const char *agent, struct cella_err *err)
{
        struct mcp_stdio *s = calloc(1, sizeof *s);
        if (!s)
                return err_set(err, CELLA_INTERNAL, -ENOMEM, "stdio");
        s->mcp = mcp;
        session_init(&s->session, mcp);
        snprintf(s->session.name, sizeof s->session.name, "%s", session ? session : "mcp");
        caller_owner(&s->caller);
        caller_set_agent(&s->caller, agent);
        uv_pipe_init(mcp->core->loop, &s->pipe, 0);
        s->pipe.data = s;
        int r = uv_pipe_open(&s->pipe, fd);
        if (r == 0)
                r = uv_read_start((uv_stream_t *)&s->pipe, on_alloc, on_read);
        mcp->stdio = s;
        return r < 0 ? err_set(err, CELLA_INTERNAL, r, "stdio") : 0;
}

void mcp_stdio_free(struct mcp_stdio *s)
{
        if (!s)
                return;
        mcp_stdio_give_up(s);
        close_pipe(s);
        json_decref(s->session.client);
        free(s->line);
        s->session.client = NULL;
        s->line = NULL;
        s->forgotten = true; /* libuv keeps the handle until it is closed */
        if (s->closed)
                free(s);
}
