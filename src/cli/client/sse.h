/* cli/client/sse.h -- parses a stream of events (text/event-stream) piece by piece. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cella.h"

#define SSE_EVENT_MAX (16u * 1024 * 1024) /* data of one event; events of output are much smaller */
#define SSE_NAME_MAX 32

struct sse {
        /* name is "message" if the stream gives none.  data ends with a NUL, may be modified, and is valid
         * during the call.  A negative return value ends the parsing. */
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

/* Returns 0, the negative value of on_event, or -EFBIG.  An event without an empty line at its end is not
 * delivered. */
int sse_feed(struct sse *s, const char *bytes, size_t len, struct cella_err *err);
