#include "cli/client/sse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void sse_init(struct sse *s, int (*on_event)(void *, const char *, char *, size_t, struct cella_err *),
              void *userdata)
{
        *s = (struct sse){.on_event = on_event, .userdata = userdata};
}

void sse_done(struct sse *s)
{
        free(s->line);
        free(s->data);
        *s = (struct sse){0};
}

/* Appends and adds a NUL. */
static int client_sse_append(char **text, size_t *at, size_t *size, const char *bytes, size_t len,
                             struct cella_err *err)
{
        if (len > SSE_EVENT_MAX - *at)
                return err_say(err, CELLA_TOO_LARGE, -EFBIG, "an event of more than %u bytes", SSE_EVENT_MAX);
        if (*at + len + 1 > *size) {
                size_t more = *size ? *size : 1024;
                while (more < *at + len + 1)
                        more *= 2;
                char *bigger = realloc(*text, more);
                if (!bigger)
                        return err_set(err, CELLA_INTERNAL, -ENOMEM, "event");
                *text = bigger;
                *size = more;
        }
        memcpy(*text + *at, bytes, len);
        *at += len;
        (*text)[*at] = '\0';
        return 0;
}

static int dispatch(struct sse *s, struct cella_err *err)
{
        int r = 0;
        if (s->has_data)
                r = s->on_event(s->userdata, s->name[0] ? s->name : "message", s->data, s->data_len, err);
        s->name[0] = '\0';
        s->data_len = 0;
        s->has_data = false;
        return r < 0 ? r : 0;
}

/* line ends with a NUL. */
static int client_sse_take_line(struct sse *s, struct cella_err *err)
{
        char *line = s->line, *end = line + s->line_len;
        if (!s->begun && s->line_len >= 3 && !memcmp(line, "\xef\xbb\xbf", 3))
                line += 3; /* a byte order mark */
        s->begun = true;
        if (line == end)
                return dispatch(s, err);
        char *colon = memchr(line, ':', (size_t)(end - line));
        char *value = colon ? colon + 1 : end;
        if (colon)
                *colon = '\0';
        if (value < end && *value == ' ')
                value++;
        if (!strcmp(line, "event")) {
                snprintf(s->name, sizeof s->name, "%s", value);
        } else if (!strcmp(line, "data")) {
                int r = s->has_data ? client_sse_append(&s->data, &s->data_len, &s->data_size, "\n", 1, err)
                                    : 0;
                s->has_data = true;
                return r < 0 ? r
                             : client_sse_append(&s->data, &s->data_len, &s->data_size, value,
                                                 (size_t)(end - value), err);
        }
        return 0; /* comments, ids and unknown fields */
}

/* Lines end in LF, CR or both. */
int sse_feed(struct sse *s, const char *bytes, size_t len, struct cella_err *err)
{
        int r = 0;
        while (len > 0 && r == 0) {
                if (s->after_cr && *bytes == '\n') {
                        bytes++;
                        len--;
                        s->after_cr = false;
                        continue;
                }
                s->after_cr = false;
                size_t n = 0;
                while (n < len && bytes[n] != '\n' && bytes[n] != '\r')
                        n++;
                r = client_sse_append(&s->line, &s->line_len, &s->line_size, bytes, n, err);
                if (r == 0 && n < len) {
                        s->after_cr = bytes[n] == '\r';
                        r = client_sse_take_line(s, err);
                        s->line_len = 0;
                        n++;
                }
                bytes += n;
                len -= n;
        }
        return r;
}
