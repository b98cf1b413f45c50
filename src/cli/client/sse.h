/* cli/client/sse.h -- reads a stream of events (text/event-stream), as it comes in pieces. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cella.h"

#define SSE_EVENT_MAX (16u * 1024 * 1024) /* of the data of one event; output comes in far smaller ones */
#define SSE_NAME_MAX 32

struct sse {
        /* name is "message" where the stream gave none; data (NUL after it) may be changed, and is gone
         * after the call.  Something negative ends the reading. */
        int (*on_event)(void *userdata, const char *name, char *data, size_t len, struct cella_err *err);
        void *userdata;

        char name[SSE_NAME_MAX];
        char *line, *data; /* owned */
        size_t line_len, line_size, data_len, data_size;
        bool has_data, after_cr, begun;
};

void sse_init(struct sse *s, int (*on_event)(void *, const char *, char *, size_t, struct cella_err *),
              void *userdata);
void sse_done(struct sse *s);

/* 0, what on_event returned, or -EFBIG.  An event that was not ended by an empty line never comes. */
int sse_feed(struct sse *s, const char *bytes, size_t len, struct cella_err *err);
