/* http/stream.c -- an answer that is written in parts.
 *
 * MHD asks for bytes (take_bytes) whenever the socket is writable.  If there are none, the connection is
 * held until some are written.  MHD ends a request with the last byte of a known length, so this byte is
 * held back until the writer has called http_stream_end(): until then the request belongs to the writer. */
#include <stdlib.h>
#include <string.h>

#include "http/internal.h"

#define BLOCK_BYTES (16u * 1024) /* MHD's buffer for known lengths */
#define KEEP_BYTES (32u * 1024)  /* an empty buffer larger than this is freed */

void http_stream_done(struct stream *stream)
{
        free(stream->data);
        stream->data = NULL;
        stream->start = stream->end = stream->size = 0;
}

static size_t unsent(const struct stream *stream)
{
        return stream->end - stream->start;
}

static size_t http_stream_ready(const struct stream *stream)
{
        size_t n = unsent(stream);

        if (stream->length != UINT64_MAX && !stream->ended && n > 0 && stream->taken + n == stream->length)
                n--;
        return n;
}

static void report_room(struct http_request *request)
{
        struct stream *stream = &request->stream;

        if (!stream->wants_room || unsent(stream) >= HTTP_STREAM_MAX / 2)
                return;
        stream->wants_room = false;
        if (stream->room != NULL && !stream->ended && !request->gone)
                stream->room(request, stream->room_context);
}

static ssize_t take_bytes(void *cls, uint64_t at, char *to, size_t max)
{
        struct http_request *request = cls;
        struct stream *stream = &request->stream;
        size_t n = http_stream_ready(stream);

        (void)at;
        if (request->gone || stream->aborted || request->server->ending)
                return MHD_CONTENT_READER_END_WITH_ERROR;
        if (n == 0 && stream->ended)
                return stream->length == UINT64_MAX ? MHD_CONTENT_READER_END_OF_STREAM
                                                    : MHD_CONTENT_READER_END_WITH_ERROR;
        if (n == 0 && request->connection->hup)
                return MHD_CONTENT_READER_END_WITH_ERROR;
        if (n == 0) {
                request_hold(request, HELD_STREAM);
                return 0;
        }
        if (n > max)
                n = max;
        memcpy(to, stream->data + stream->start, n);
        stream->start += n;
        stream->taken += n;
        if (stream->start == stream->end) {
                stream->start = stream->end = 0;
                if (stream->size > KEEP_BYTES)
                        http_stream_done(stream);
        }
        report_room(request);
        return (ssize_t)n;
}

struct MHD_Response *stream_response(struct http_request *request)
{
        const struct stream *stream = &request->stream;

        return MHD_create_response_from_callback(stream->length == UINT64_MAX ? MHD_SIZE_UNKNOWN
                                                                              : stream->length,
                                                 BLOCK_BYTES, take_bytes, request, NULL);
}

/* MHD asks for no bytes of such a stream and would end the request while the writer still has it. */
bool stream_needs_end(const struct http_request *request)
{
        const struct stream *stream = &request->stream;

        return stream->on && !stream->ended && !stream->aborted && (request->head || stream->length == 0);
}

void http_stream(struct http_request *request, int status, const char *type, uint64_t length)
{
        if (!answer_begin(request, status, type))
                return;
        request->stream.on = true;
        request->stream.length = length;
        request_answered(request);
}

static bool make_space(struct stream *stream, size_t len)
{
        size_t have = unsent(stream), size = stream->size > 0 ? stream->size : 4096;
        char *grown;

        if (stream->size - stream->end >= len)
                return true;
        if (stream->start > 0) {
                memmove(stream->data, stream->data + stream->start, have);
                stream->start = 0;
                stream->end = have;
        }
        if (stream->size - stream->end >= len)
                return true;
        while (size - have < len)
                size *= 2;
        grown = realloc(stream->data, size);
        if (grown == NULL)
                return false;
        stream->data = grown;
        stream->size = size;
        return true;
}

static void wake(struct http_request *request)
{
        if (request->held == HELD_STREAM)
                request_continue(request);
}

void http_stream_write(struct http_request *request, const void *data, size_t len)
{
        struct stream *stream = &request->stream;

        if (!stream->on || stream->ended || stream->aborted || request->gone || len == 0 ||
            request->connection == NULL || request->head)
                return;
        if (stream->length != UINT64_MAX && len > stream->length - stream->taken - unsent(stream))
                len = stream->length - stream->taken - unsent(stream);
        if (len == 0)
                return;
        if (!make_space(stream, len)) {
                stream->broken = true; /* data is missing: the client must not consider the answer complete */
                return;
        }
        memcpy(stream->data + stream->end, data, len);
        stream->end += len;
        if (unsent(stream) >= HTTP_STREAM_MAX / 2)
                stream->wants_room = true;
        if (http_stream_ready(stream) > 0)
                wake(request);
}

size_t http_stream_room(const struct http_request *request)
{
        size_t n = unsent(&request->stream);

        return n < HTTP_STREAM_MAX ? HTTP_STREAM_MAX - n : 0;
}

void http_on_room(struct http_request *request, void (*room)(struct http_request *, void *), void *context)
{
        request->stream.room = room;
        request->stream.room_context = context;
}

void http_stream_end(struct http_request *request)
{
        struct stream *stream = &request->stream;
        bool kept_back;

        if (!stream->on || stream->ended || stream->aborted || request->gone)
                return;
        if (stream->broken) {
                http_stream_abort(request);
                return;
        }
        kept_back = stream_needs_end(request);
        stream->ended = true;
        if (request->connection == NULL)
                request_release(request);
        else if (kept_back)
                request_answered(request);
        else
                wake(request);
}

void http_stream_abort(struct http_request *request)
{
        struct stream *stream = &request->stream;
        bool kept_back;

        if (!stream->on || stream->ended || stream->aborted || request->gone)
                return;
        kept_back = stream_needs_end(request);
        stream->aborted = true;
        if (request->connection == NULL) {
                request_release(request);
        } else if (kept_back) {
                request->cut = true;
                if (request->held != HELD_NOT)
                        request_continue(request);
        } else {
                wake(request);
        }
}
