#include "front/sse.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "front/auth.h"

void sse_begin(struct sse *sse, struct call *call, bool base64)
{
        memset(sse, 0, sizeof *sse);
        sse->call = call;
        sse->base64 = base64;
        http_add_header(call->request, "Cache-Control", "no-store");
        http_add_header(call->request, "X-Accel-Buffering", "no");
        http_stream(call->request, 200, "text/event-stream", ~UINT64_C(0));
        list_init(&sse->link);
        list_add(&call->api->streams, &sse->link);
}

/* The text is JSON of one line: it has no newline to escape. */
void sse_event_text(struct sse *sse, const char *name, const char *json, size_t len)
{
        char head[64];
        int n = snprintf(head, sizeof head, "event: %s\ndata: ", name);
        http_stream_write(sse->call->request, head, (size_t)n);
        http_stream_write(sse->call->request, json, len);
        http_stream_write(sse->call->request, "\n\n", 2);
}

void sse_event(struct sse *sse, const char *name, json_t *data)
{
        char *text = json_dumps(data, JSON_COMPACT);
        if (text)
                sse_event_text(sse, name, text, strlen(text));
        free(text);
        json_decref(data);
}

static void front_sse_put(struct sse *sse, enum cella_stream stream, const char *data, size_t len)
{
        static const char *const names[] = {[CELLA_STDOUT] = "stdout", [CELLA_STDERR] = "stderr"};
        char *text = NULL;
        size_t text_len = 0;
        struct json j = {.out = open_memstream(&text, &text_len)};
        if (!j.out)
                return;
        json_put_open(&j, NULL, '{');
        if (sse->base64)
                json_put_base64(&j, "base64", data, len);
        else
                json_put_bytes(&j, "text", data, len);
        json_put_close(&j, '}');
        fclose(j.out);
        sse_event_text(sse, names[stream], text, text_len);
        free(text);
}

/* Returns the number of bytes at the end that begin an incomplete UTF-8 character. */
static size_t unfinished(const char *data, size_t len)
{
        for (size_t n = 1; n <= 3 && n <= len; n++) {
                unsigned char c = (unsigned char)data[len - n];
                if (c < 0x80)
                        return 0;
                if (c >= 0xc0)
                        return n < (c >= 0xf0 ? 4u : c >= 0xe0 ? 3u : 2u) ? n : 0;
        }
        return 0;
}

void sse_output(struct sse *sse, enum cella_stream stream, const char *data, size_t len)
{
        size_t carried = sse->carried[stream];
        char *joined = NULL;
        if (sse->base64) {
                front_sse_put(sse, stream, data, len);
                return;
        }
        if (carried > 0 && (joined = malloc(carried + len))) {
                memcpy(joined, sse->carry[stream], carried);
                memcpy(joined + carried, data, len);
                data = joined;
                len += carried;
        }
        size_t rest = unfinished(data, len);
        memcpy(sse->carry[stream], data + len - rest, rest);
        sse->carried[stream] = (unsigned char)rest;
        if (len > rest)
                front_sse_put(sse, stream, data, len - rest);
        free(joined);
}

void sse_flush(struct sse *sse)
{
        for (int i = 0; i < 2; i++) {
                if (sse->carried[i] > 0)
                        front_sse_put(sse, (enum cella_stream)i, sse->carry[i], sse->carried[i]);
                sse->carried[i] = 0;
        }
}

void sse_end(struct sse *sse)
{
        list_remove(&sse->link);
        http_stream_end(sse->call->request);
}

void sse_forget(struct sse *sse)
{
        list_remove(&sse->link);
}

void sse_guard(struct sse *sse, void (*on_refused)(struct sse *sse))
{
        sse->on_refused = on_refused;
        api_guard(sse->call->api);
}

bool sse_guard_all(struct api *api)
{
        bool any = false;
        list_each (at, &api->streams, other) {
                struct sse *sse = list_entry(at, struct sse, link);
                const struct call *call = sse->call;
                if (!sse->on_refused)
                        continue;
                any = true;
                if (!auth_may_stay(call->core, &call->caller, http_peer(call->request)->local))
                        sse->on_refused(sse);
        }
        return any;
}

void sse_heartbeat(struct api *api)
{
        list_each (at, &api->streams, other) {
                struct sse *sse = list_entry(at, struct sse, link);
                if (http_stream_room(sse->call->request) > 0)
                        http_stream_write(sse->call->request, ": still here\n\n", 14);
        }
}
