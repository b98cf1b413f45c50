/* front/sse.h -- an answer as a stream of events (text/event-stream). */
#pragma once
#include "front/api.h"

struct sse {
        struct list link; /* in api->streams */
        struct call *call;
        void (*on_refused)(struct sse *sse); /* see sse_guard() */
        bool base64;
        char carry[2][4]; /* the start of an incomplete character */
        unsigned char carried[2];
};

void sse_begin(struct sse *sse, struct call *call, bool base64);
void sse_event(struct sse *sse, const char *name, json_t *data); /* takes data */
void sse_event_text(struct sse *sse, const char *name, const char *json, size_t len);
/* Sends output: as text in whole characters, or base64. */
void sse_output(struct sse *sse, enum cella_stream stream, const char *data, size_t len);
void sse_flush(struct sse *sse); /* sends incomplete characters */
void sse_end(struct sse *sse);
/* For a stream that does not end by itself: on_refused() is called when its key was removed, to end it. */
void sse_guard(struct sse *sse, void (*on_refused)(struct sse *sse));
bool sse_guard_all(struct api *api); /* call every second; returns true if there are any */
/* Call when the client has disconnected. */
void sse_forget(struct sse *sse);
void sse_heartbeat(struct api *api); /* call every 15 s */
