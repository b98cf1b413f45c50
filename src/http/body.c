/* http/body.c -- request bodies: buffered until complete, or passed to the handler in parts. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http/internal.h"

#define FIRST_BYTES 4096u /* the buffer grows with the received bytes, not with the announced length */

struct framing {
        unsigned lengths, encodings;
        const char *length, *encoding;
};

static enum MHD_Result look_at_header(void *cls, enum MHD_ValueKind kind, const char *name, const char *value)
{
        struct framing *framing = cls;

        (void)kind;
        if (strcasecmp(name, "Content-Length") == 0) {
                framing->lengths++;
                framing->length = value != NULL ? value : "";
        } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
                framing->encodings++;
                framing->encoding = value != NULL ? value : "";
        }
        return MHD_YES;
}

void body_expect(struct http_request *request)
{
        struct framing framing = {0};
        struct body *body = &request->body;

        MHD_get_connection_values(request->connection->mhd, MHD_HEADER_KIND, look_at_header, &framing);
        body->length = UINT64_MAX;
        if (framing.encodings > 0) {
                body->expected = body->chunked = true;
                /* MHD uses the first of several headers, other parsers the last.  HTTP/1.0 has no chunks:
                 * an old proxy may forward the header without interpreting it. */
                body->malformed = framing.encodings > 1 || framing.lengths > 0 || request->old ||
                                  strcasecmp(framing.encoding, "chunked") != 0;
        } else if (framing.lengths > 0) {
                body->length = strtoull(framing.length, NULL, 10); /* MHD has validated it */
                body->expected = body->length > 0;
                body->malformed = framing.lengths > 1;
        } else {
                body->length = 0;
        }
}

int body_begin(struct http_request *request, const char **ret_why)
{
        const struct body *body = &request->body;

        if (body->length != UINT64_MAX && body->length > request->route->body_max) {
                *ret_why = "the body is too large";
                return 413;
        }
        return 0;
}

static bool http_body_keep(struct body *body, const char *data, size_t len, size_t max)
{
        size_t need = body->len + len + 1;

        if (need > body->size) {
                size_t size = body->size > 0 ? body->size : FIRST_BYTES;
                char *grown;

                while (size < need)
                        size *= 2;
                if (size > max + 1)
                        size = max + 1;
                grown = realloc(body->data, size);
                if (grown == NULL)
                        return false;
                body->data = grown;
                body->size = size;
        }
        memcpy(body->data + body->len, data, len);
        body->len += len;
        return true;
}

/* Answers within a body, where MHD accepts no answer. */
static enum MHD_Result stop_here(struct http_request *request)
{
        answer_cut(request);
        return MHD_NO;
}

static enum MHD_Result keep_part(struct http_request *request, const char *data, size_t *data_len)
{
        struct body *body = &request->body;
        size_t max = request->route->body_max;

        if (*data_len > max - body->len)
                request_refuse(request, 413, "the body is too large");
        else if (!http_body_keep(body, data, *data_len, max))
                request_refuse(request, 503, "not enough memory for the body");
        if (request->answered)
                return stop_here(request);
        *data_len = 0;
        return MHD_YES;
}

static enum MHD_Result hand_part(struct http_request *request, const char *data, size_t *data_len)
{
        struct body *body = &request->body;
        ssize_t taken;

        if (*data_len > request->route->body_max - body->len) {
                request_refuse(request, 413, "the body is too large");
                return stop_here(request);
        }
        body->resume = false;
        taken = body->read(request, data, *data_len, body->read_context);
        if (request->answered && !request->stream.on && request->websocket == NULL)
                return stop_here(request);
        if (taken < 0) {
                body->unwanted = true;
                *data_len = 0;
                return MHD_YES;
        }
        if ((size_t)taken >= *data_len) {
                body->len += *data_len;
                *data_len = 0;
                return MHD_YES;
        }
        body->len += (size_t)taken;
        *data_len -= (size_t)taken;
        if (request->connection->hup && request->on_gone != NULL)
                return MHD_NO;
        request_hold(request, HELD_BODY);
        if (body->resume)
                request_continue(request);
        return MHD_YES;
}

enum MHD_Result body_part(struct http_request *request, const char *data, size_t *data_len)
{
        struct body *body = &request->body;

        if (request->answered && !request->stream.on && request->websocket == NULL)
                return stop_here(request);
        if (body->unwanted || request->answered) {
                *data_len = 0;
                return MHD_YES;
        }
        return request->route->body_streams ? hand_part(request, data, data_len)
                                            : keep_part(request, data, data_len);
}

void body_end(struct http_request *request)
{
        struct body *body = &request->body;

        body->whole = true;
        if (body->data != NULL)
                body->data[body->len] = '\0';
        if (body->read == NULL || body->end_reported || body->unwanted || request->answered)
                return;
        body->end_reported = true;
        if (body->read(request, NULL, 0, body->read_context) < 0)
                body->unwanted = true;
}

const char *http_body(const struct http_request *request, size_t *ret_len)
{
        const struct body *body = &request->body;

        if (ret_len != NULL)
                *ret_len = body->data != NULL ? body->len : 0;
        return body->data != NULL ? body->data : "";
}

void http_body_read(struct http_request *request,
                    ssize_t (*data)(struct http_request *, const char *, size_t, void *), void *context)
{
        request->body.read = data;
        request->body.read_context = context;
        if (request->gone || request->connection == NULL || request->inside)
                return;
        if (request->held == HELD_HEADERS)
                request->at_headers = true;
        if (request->held == HELD_HEADERS || (request->held == HELD_WHOLE && !request->answered))
                request_continue(request);
}

void http_body_resume(struct http_request *request)
{
        request->body.resume = true;
        if (request->held == HELD_BODY && !request->gone)
                request_continue(request);
}

uint64_t http_body_length(const struct http_request *request)
{
        return request->body.length;
}
