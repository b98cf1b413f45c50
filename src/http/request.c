/* http/request.c -- the life of a request.
 *
 * Theory of operation.  MHD calls request_handle() first when the headers have arrived, then for each part
 * of the body, and finally when the request is complete; it expects the answer when the last call returns.
 * If a handler wants to answer later, the connection is suspended ("held"): MHD then ignores the socket and
 * continues at the same point after it is resumed.  The point (enum held) determines how the answer can be
 * given:
 *
 * HELD_HEADERS  a body follows that the handler has not requested yet: MHD accepts an answer, does
 *                 not read the body and closes the connection afterwards
 * HELD_BODY     the handler does not accept more of the body now: MHD accepts no answer here.  We
 *                 write it to the socket and close (answer_cut)
 * HELD_WHOLE    the request is complete: the usual case HELD_STREAM   the answer is being sent, and there
 * is nothing to send at the moment
 *
 * While a connection is held, MHD does not notice that its client is gone.  Therefore each socket is also
 * in our own epoll (connection.c), which only reports hang-ups.  A client that has only shut down its
 * sending side cannot be distinguished from one that is gone and is treated as gone: MHD, too, closes such
 * a connection as soon as it reads from it.
 *
 * Lifetime.  MHD keeps the request until request_completed().  The handler keeps it from the call of
 * on_request until it has answered, ended its stream, or was notified by on_gone.  The request is freed
 * after both.  A handler without on_gone still answers a request whose connection is closed (connection ==
 * NULL); this only ends the request.
 *
 * No function here calls MHD_run(), and MHD frees connections only there: a connection that exists at the
 * start of our callback exists at its end.  The loop's prepare step runs MHD before the loop waits
 * (server.c), so an answer is sent at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/clock.h"
#include "http/internal.h"

static const char *const method_names[] = {
        [HTTP_GET] = "GET",     [HTTP_POST] = "POST",     [HTTP_PUT] = "PUT",
        [HTTP_PATCH] = "PATCH", [HTTP_DELETE] = "DELETE",
};

/* ---- holding ---- */

void request_hold(struct http_request *request, enum held held)
{
        request->held = held;
        MHD_suspend_connection(request->connection->mhd);
}

void request_continue(struct http_request *request)
{
        request->held = HELD_NOT;
        MHD_resume_connection(request->connection->mhd);
        request->server->due = true;
}

/* Suspends until the handler does something.  If the client is gone already, returns MHD_NO, which closes
 * the connection; request_completed() notifies the handler. */
static enum MHD_Result hold_for_handler(struct http_request *request, enum held held)
{
        if (request->connection->hup && request->on_gone != NULL)
                return MHD_NO;
        request_hold(request, held);
        return MHD_YES;
}

/* ---- end of a request ---- */

static bool handler_has_it(const struct http_request *request)
{
        const struct stream *stream = &request->stream;

        if (!request->handed || request->gone)
                return false;
        return !request->answered || (stream->on && !stream->ended && !stream->aborted);
}

static void report_gone(struct http_request *request)
{
        void (*gone)(struct http_request *, void *) = request->on_gone;

        request->gone = true;
        request->on_gone = NULL;
        gone(request, request->gone_context);
}

void request_finish(struct http_request *request)
{
        struct http_server *server = request->server;

        if (!request->begun || request->done)
                return;
        request->done = true;
        server->requests--;
        if (server->options.on_done != NULL && !server->freed)
                server->options.on_done(request, request->reply.status,
                                        (uint64_t)(clock_us() - request->start_us), server->options.userdata);
}

static void request_free(struct http_request *request)
{
        free(request->target);
        free(request->body.data);
        reply_done(&request->reply);
        http_stream_done(&request->stream);
        free(request);
}

void request_release(struct http_request *request)
{
        struct http_server *server = request->server;

        if (request->connection != NULL || handler_has_it(request))
                return;
        request_finish(request);
        request_free(request);
        server_release(server);
}

void request_completed(void *cls, struct MHD_Connection *mhd, void **context,
                       enum MHD_RequestTerminationCode why)
{
        struct http_request *request = *context;
        struct connection *connection;

        (void)cls, (void)mhd;
        if (request == NULL)
                return;
        *context = NULL;
        connection = request->connection;
        connection->request = NULL;
        request->held = HELD_NOT;
        if (request->websocket != NULL)
                websocket_failed(TAKE(request->websocket));
        if (request->early || request->cut)
                linger_start(request->server, connection->fd);
        if (why != MHD_REQUEST_TERMINATED_COMPLETED_OK || (request->stream.on && request->old))
                connection_reap(connection);
        if (handler_has_it(request) && request->on_gone != NULL)
                report_gone(request);
        if (handler_has_it(request)) {
                request->connection = NULL;
                request->server->handles++;
        } else {
                request_finish(request);
                request_free(request);
        }
        connection_enter(connection, PHASE_IDLE);
}

void request_client_gone(struct http_request *request)
{
        if (request->held == HELD_NOT || request->on_gone == NULL || !handler_has_it(request))
                return;
        report_gone(request);
        request_continue(request);
}

void request_abandon(struct http_request *request)
{
        if (handler_has_it(request) && request->on_gone != NULL)
                report_gone(request);
        if (request->held != HELD_NOT)
                request_continue(request);
}

/* ---- steps ---- */

/* Returns the request's context in MHD.  NULL (no memory): request_handle() closes the connection. */
void *request_begin(void *cls, const char *uri, struct MHD_Connection *mhd)
{
        struct connection *connection = connection_of(mhd);
        struct http_request *request;

        if (connection == NULL)
                return NULL;
        request = calloc(1, sizeof(*request));
        if (request == NULL)
                return NULL;
        request->target = target_new(uri);
        if (request->target == NULL) {
                free(request);
                return NULL;
        }
        request->target_end = uri + strlen(uri);
        request->server = cls;
        request->connection = connection;
        request->peer = connection->peer;
        request->start_us = clock_us();
        connection->request = request;
        connection_enter(connection, PHASE_HEADERS);
        return request;
}

/* Adds the Allow header of a 405. */
static void add_allow(struct http_request *request, unsigned allowed)
{
        char text[64];
        size_t len = 0;

        for (unsigned i = 0; i < ARRAY_LEN(method_names); i++)
                if (allowed & 1u << i)
                        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s", len > 0 ? ", " : "",
                                                method_names[i], i == HTTP_GET ? ", HEAD" : "");
        http_add_header(request, "Allow", text);
}

static bool find_method(struct http_request *request, const char *name)
{
        request->method_name = name;
        request->head = strcmp(name, "HEAD") == 0;
        request->method = HTTP_GET;
        if (request->head)
                return true;
        for (unsigned i = 0; i < ARRAY_LEN(method_names); i++) {
                if (strcmp(name, method_names[i]) == 0) {
                        request->method = (enum http_method)i;
                        return true;
                }
        }
        return false;
}

void request_refuse(struct http_request *request, int status, const char *why)
{
        struct http_server *server = request->server;

        if (request->answered)
                return;
        if (server->options.on_error != NULL)
                server->options.on_error(request, status, why, server->options.userdata);
        if (!request->answered) {
                char text[256];
                int len = snprintf(text, sizeof(text), "%s\n", why);

                http_reply(request, status, "text/plain", text, len < 0 ? 0 : (size_t)len % sizeof(text));
        }
}

static void http_request_check(struct http_request *request, bool known_method, unsigned allowed)
{
        const char *why = NULL;
        int status;

        if (request->target->wrong != NULL) {
                request_refuse(request, 400, request->target->wrong);
        } else if (request->route == NULL && allowed != 0) {
                add_allow(request, allowed);
                request_refuse(request, 405, "this path does not take this method");
        } else if (request->route == NULL) {
                request_refuse(request, known_method ? 404 : 405,
                               known_method ? "there is no such path" : "this method is not known");
        } else {
                status = body_begin(request, &why);
                if (status != 0)
                        request_refuse(request, status, why);
        }
}

/* The handler of a streaming body was called and may have requested the body. */
static enum MHD_Result go_to_body(struct http_request *request)
{
        if (request->answered && request->body.expected)
                return answer_queue(request);
        if (request->answered || request->body.read != NULL || !request->body.expected)
                return MHD_YES;
        return hold_for_handler(request, HELD_HEADERS);
}

static enum MHD_Result headers_are_there(struct http_request *request, const char *method,
                                         const char *version)
{
        struct http_server *server = request->server;
        const struct target *target = request->target;
        unsigned allowed = 0;
        bool known = find_method(request, method);
        const char *ambiguous = head_check(request, method, version);

        request->begun = true;
        server->requests++;
        if (target->wrong == NULL)
                request->route = router_find(server->router, target->segments, target->n_segments,
                                             request->method, request->params, &allowed);
        if (!known)
                request->route = NULL;
        body_expect(request);
        if (ambiguous == NULL && request->body.malformed)
                ambiguous = "the length of the body is not clear";
        if (ambiguous != NULL) { /* the start of the next request is unknown, too */
                request->last = true;
                request_refuse(request, 400, ambiguous);
        } else if (request->body.chunked && !head_chunks_are_strict()) {
                request->last = true; /* the parser accepts chunks that others interpret differently */
        }

        if (!request->answered && server->options.on_headers != NULL)
                server->options.on_headers(request, server->options.userdata);
        if (!request->answered)
                http_request_check(request, known, allowed);
        if (request->answered || request->route->body_streams)
                connection_enter(request->connection, PHASE_BUSY);
        else
                connection_enter(request->connection, PHASE_BODY);
        if (!request->answered && request->route->body_streams) {
                request->handed = true;
                server->options.on_request(request, server->options.userdata);
        }
        if (!request->answered && !request->handed)
                return MHD_YES; /* the body comes first */
        return go_to_body(request);
}

static enum MHD_Result all_is_there(struct http_request *request)
{
        struct http_server *server = request->server;

        body_end(request);
        if (!request->handed && !request->answered) {
                connection_enter(request->connection, PHASE_BUSY);
                request->handed = true;
                server->options.on_request(request, server->options.userdata);
        }
        if (request->answered && !stream_needs_end(request))
                return answer_queue(request);
        return hold_for_handler(request, HELD_WHOLE);
}

static enum MHD_Result http_request_step(struct http_request *request, const char *method,
                                         const char *version, const char *data, size_t *data_len)
{
        if (request->gone || request->cut || request->server->ending)
                return MHD_NO;
        if (!request->begun)
                return headers_are_there(request, method, version);
        if (*data_len > 0)
                return body_part(request, data, data_len);
        if (request->at_headers) {
                request->at_headers = false;
                return go_to_body(request);
        }
        return all_is_there(request);
}

enum MHD_Result request_handle(void *cls, struct MHD_Connection *mhd, const char *url, const char *method,
                               const char *version, const char *data, size_t *data_len, void **context)
{
        struct http_request *request = *context;
        enum MHD_Result result;

        (void)cls, (void)mhd, (void)url;
        if (request == NULL)
                return MHD_NO;
        request->old = strcmp(version, "HTTP/1.0") == 0;
        request->inside = true;
        result = http_request_step(request, method, version, data, data_len);
        request->inside = false;
        return result;
}

void request_answered(struct http_request *request)
{
        bool goes_on = request->stream.on || request->websocket != NULL;

        request->answered = true;
        if (request->connection == NULL)
                request_release(request);
        else if (request->inside)
                return; /* queued on return to MHD */
        else if (request->held == HELD_HEADERS || request->held == HELD_WHOLE) {
                if (stream_needs_end(request))
                        return;
                if (answer_queue(request) == MHD_NO)
                        request->cut = true;
                request_continue(request);
        } else if (!goes_on) { /* within the body */
                answer_cut(request);
                if (request->held != HELD_NOT)
                        request_continue(request);
        }
}

/* ---- accessors ---- */

const struct http_route *http_route(const struct http_request *request)
{
        return request->route;
}

const void *http_about(const struct http_request *request)
{
        return request->route != NULL ? request->route->about : NULL;
}

enum http_method http_method(const struct http_request *request)
{
        return request->method;
}

const char *http_method_name(const struct http_request *request)
{
        if (request->connection != NULL)
                return request->method_name;
        return request->head ? "HEAD" : method_names[request->method];
}

const char *http_path(const struct http_request *request)
{
        return request->target->path;
}

const char *http_param(const struct http_request *request, unsigned i)
{
        return i < HTTP_PARAMS_MAX && request->params[i] != NULL ? request->params[i] : "";
}

const char *http_query(const struct http_request *request, const char *name)
{
        return target_query(request->target, name);
}

void http_each_query(const struct http_request *request, void (*each)(void *, const char *, const char *),
                     void *context)
{
        const struct target *target = request->target;

        for (unsigned i = 0; i < target->n_query; i++)
                each(context, target->query[i].name, target->query[i].value);
}

const char *http_header(const struct http_request *request, const char *name)
{
        if (request->connection == NULL)
                return NULL;
        return MHD_lookup_connection_value(request->connection->mhd, MHD_HEADER_KIND, name);
}

struct joined {
        const char *name;
        char *text;
        size_t len;
        bool failed;
};

static enum MHD_Result join_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
        struct joined *joined = cls;
        const size_t more = value != NULL ? strlen(value) : 0;

        (void)kind;
        if (strcasecmp(name, joined->name) != 0)
                return MHD_YES;
        char *text = realloc(joined->text, joined->len + more + 2);
        if (text == NULL) {
                joined->failed = true;
                return MHD_NO;
        }
        if (joined->text != NULL)
                text[joined->len++] = ',';
        if (more > 0)
                memcpy(text + joined->len, value, more);
        joined->len += more;
        text[joined->len] = '\0';
        joined->text = text;
        return MHD_YES;
}

char *http_header_all(const struct http_request *request, const char *name)
{
        struct joined joined = {.name = name};

        if (request->connection == NULL)
                return NULL;
        MHD_get_connection_values(request->connection->mhd, MHD_HEADER_KIND, join_header, &joined);
        if (!joined.failed)
                return joined.text;
        free(joined.text);
        return NULL;
}

const struct http_peer *http_peer(const struct http_request *request)
{
        return &request->peer;
}

void http_set_context(struct http_request *request, void *context)
{
        request->context = context;
}

void *http_context(const struct http_request *request)
{
        return request->context;
}

void http_on_gone(struct http_request *request, void (*gone)(struct http_request *, void *), void *context)
{
        if (request->gone)
                return;
        request->on_gone = gone;
        request->gone_context = context;
        if (gone != NULL && request->held != HELD_NOT && request->connection->hup) {
                request->server->recheck = true; /* not within this call */
                request->server->due = true;
        }
}
