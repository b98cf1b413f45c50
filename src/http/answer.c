/* http/answer.c -- replies, which are passed to MHD or, within a body, written to the socket. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "http/internal.h"
#include "http/tls.h"

void reply_done(struct reply *reply)
{
        for (unsigned i = 0; i < reply->n_headers; i++)
                free(reply->headers[i].name); /* the value is in the same block */
        free(reply->type);
        free(reply->body);
}

void http_add_header(struct http_request *request, const char *name, const char *value)
{
        struct reply *reply = &request->reply;
        size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
        char *copy;

        if (request->queued || reply->n_headers == HTTP_REPLY_HEADERS_MAX || strpbrk(value, "\r\n") != NULL)
                return;
        copy = malloc(name_size + value_size);
        if (copy == NULL)
                return;
        memcpy(copy, name, name_size);
        memcpy(copy + name_size, value, value_size);
        reply->headers[reply->n_headers].name = copy;
        reply->headers[reply->n_headers++].value = copy + name_size;
}

bool answer_begin(struct http_request *request, int status, const char *type)
{
        if (request->answered || request->gone)
                return false;
        request->reply.status = status;
        if (type != NULL && strpbrk(type, "\r\n") == NULL)
                request->reply.type = strdup(type);
        return true;
}

void http_reply_take(struct http_request *request, int status, const char *type, char *body, size_t len)
{
        if (!answer_begin(request, status, type)) {
                free(body);
                return;
        }
        request->reply.body = body;
        request->reply.len = body != NULL ? len : 0;
        request_answered(request);
}

void http_reply(struct http_request *request, int status, const char *type, const void *body, size_t len)
{
        char *copy = len > 0 ? malloc(len) : NULL;

        if (copy != NULL)
                memcpy(copy, body, len);
        http_reply_take(request, copy == NULL && len > 0 ? 503 : status, type, copy, len);
}

struct MHD_Response *answer_finish(struct http_request *request, struct MHD_Response *response)
{
        const struct reply *reply = &request->reply;

        if (response == NULL)
                return NULL;
        if (reply->type != NULL)
                MHD_add_response_header(response, "Content-Type", reply->type);
        for (unsigned i = 0; i < reply->n_headers; i++)
                MHD_add_response_header(response, reply->headers[i].name, reply->headers[i].value);
        if ((request->server->quiescing || request->last) && request->websocket == NULL)
                MHD_add_response_header(response, "Connection", "close");
        return response;
}

static struct MHD_Response *reply_response(struct http_request *request)
{
        struct reply *reply = &request->reply;
        struct MHD_Response *response;

        if (reply->body == NULL)
                return MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
        response = MHD_create_response_from_buffer(reply->len, reply->body, MHD_RESPMEM_MUST_FREE);
        if (response != NULL)
                reply->body = NULL;
        return response;
}

enum MHD_Result answer_queue(struct http_request *request)
{
        struct MHD_Response *response;
        enum MHD_Result result;

        if (request->websocket != NULL)
                response = websocket_response(request);
        else if (request->stream.on)
                response = stream_response(request);
        else
                response = reply_response(request);
        response = answer_finish(request, response);
        if (response == NULL)
                return MHD_NO;
        request->queued = true;
        request->early = request->body.expected && !request->body.whole;
        result = MHD_queue_response(request->connection->mhd, (unsigned)request->reply.status, response);
        MHD_destroy_response(response); /* MHD keeps its own reference */
        return result;
}

struct text {
        char *data;
        size_t len, size;
};

static void __attribute__((format(printf, 2, 3))) http_answer_add(struct text *text, const char *format, ...)
{
        va_list args;
        int n;

        va_start(args, format);
        n = vsnprintf(text->data + text->len, text->size - text->len, format, args);
        va_end(args);
        if (n > 0)
                text->len += (size_t)n < text->size - text->len ? (size_t)n : text->size - text->len - 1;
}

/* Nothing was sent on this socket yet, so an answer of ordinary size fits into its buffer. */
void answer_cut(struct http_request *request)
{
        const struct reply *reply = &request->reply;
        char head[8192];
        struct text text = {.data = head, .size = sizeof(head)};
        struct iovec parts[2];
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_LEN(parts)};

        if (request->cut)
                return;
        request->cut = true;
        http_answer_add(&text, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Length: %zu\r\n",
                        reply->status, MHD_get_reason_phrase_for((unsigned)reply->status), reply->len);
        if (reply->type != NULL)
                http_answer_add(&text, "Content-Type: %s\r\n", reply->type);
        for (unsigned i = 0; i < reply->n_headers; i++)
                http_answer_add(&text, "%s: %s\r\n", reply->headers[i].name, reply->headers[i].value);
        http_answer_add(&text, "\r\n");
        parts[0] = (struct iovec){.iov_base = head, .iov_len = text.len};
        parts[1] = (struct iovec){.iov_base = reply->body, .iov_len = reply->len};
        if (request->connection->tls)
                http_tls_send(
                        MHD_get_connection_info(request->connection->mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION)
                                ->tls_session,
                        parts, ARRAY_LEN(parts));
        else
                (void)!sendmsg(request->connection->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        /* MHD waits for the client and sees that the client closes the connection, or times out. */
        shutdown(request->connection->fd, SHUT_WR);
}
