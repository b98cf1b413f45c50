#include "cli/client/head.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/parse.h"

#define HEAD_MAX 16384 /* all lines together */

/* Fills the buffer until it holds an empty line; *ret is the length up to and with it. */
static int read_head(struct client_link *c, int64_t until, size_t *ret, struct cella_err *err)
{
        if (c->at > 0) {
                memmove(c->buffer, c->buffer + c->at, c->fill - c->at);
                c->fill -= c->at;
                c->at = 0;
        }
        for (;;) {
                const char *end = memmem(c->buffer, c->fill, "\r\n\r\n", 4);
                if (end) {
                        *ret = (size_t)(end - c->buffer) + 4;
                        return *ret <= HEAD_MAX ? 0 : client_link_broken(c, err, "its headers are too long");
                }
                if (c->fill >= HEAD_MAX)
                        return client_link_broken(c, err, "its headers are too long");
                ssize_t n = client_link_receive(c, c->buffer + c->fill, HEAD_MAX - c->fill, until, err);
                if (n < 0)
                        return (int)n;
                if (n == 0 && c->fill == 0)
                        return err_say(err, CELLA_ENGINE_UNAVAILABLE, -ECONNRESET,
                                       "%s closed the connection without an answer", c->to.where);
                if (n == 0)
                        return client_link_broken(c, err, "it ends in its headers");
                c->fill += (size_t)n;
        }
}

static int read_length(const struct client_link *c, const char *text, uint64_t *ret, struct cella_err *err)
{
        uint64_t value;
        if (!*text || text[strspn(text, "0123456789")] || parse_count(text, &value) < 0 || value > INT64_MAX)
                return client_link_broken(c, err, "a Content-Length that is no number");
        if (*ret != CLIENT_UNKNOWN && *ret != value)
                return client_link_broken(c, err, "two lengths");
        *ret = value;
        return 0;
}

static void keep(char *out, size_t size, const char *value)
{
        snprintf(out, size, "%.*s", (int)strcspn(value, ";, \t"), value);
}

/* One header, of which the answer or the framing may want to know. */
static int take_header(const struct client_link *c, char *line, struct client_answer *a,
                       struct cella_err *err)
{
        static const char token[] =
                "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        size_t name_len = strspn(line, token);
        if (name_len == 0 || line[name_len] != ':')
                return client_link_broken(c, err, "a header without a name");
        line[name_len] = '\0';
        char *value = line + name_len + 1;
        value += strspn(value, " \t");
        for (size_t n = strlen(value); n > 0 && (value[n - 1] == ' ' || value[n - 1] == '\t'); n--)
                value[n - 1] = '\0';
        if (!strcasecmp(line, "Content-Length"))
                return read_length(c, value, &a->length, err);
        if (!strcasecmp(line, "Transfer-Encoding")) {
                if (strcasecmp(value, "chunked") != 0 || a->chunked)
                        return client_link_broken(c, err, "an unknown transfer encoding");
                a->chunked = true;
        } else if (!strcasecmp(line, "Content-Type")) {
                keep(a->type, sizeof a->type, value);
        } else if (!strcasecmp(line, "Sec-WebSocket-Accept")) {
                keep(a->accept, sizeof a->accept, value);
        }
        return 0;
}

static int read_status(const struct client_link *c, const char *line, struct client_answer *a,
                       struct cella_err *err)
{
        if (strncmp(line, "HTTP/1.", 7) != 0 || (line[7] != '0' && line[7] != '1') || line[8] != ' ' ||
            strspn(line + 9, "0123456789") != 3 || (line[12] && line[12] != ' '))
                return client_link_broken(c, err, "this is not HTTP");
        a->status = atoi(line + 9);
        return a->status < 100 || a->status > 599 ? client_link_broken(c, err, "an unknown status") : 0;
}

/* head is len bytes that end in an empty line. */
static int parse_head(const struct client_link *c, char *head, size_t len, struct client_answer *a,
                      struct cella_err *err)
{
        *a = (struct client_answer){.length = CLIENT_UNKNOWN};
        for (size_t i = 0; i < len; i++)
                if ((unsigned char)head[i] < ' ' && head[i] != '\r' && head[i] != '\n' && head[i] != '\t')
                        return client_link_broken(c, err, "a control character in its headers");
        for (char *line = head, *end; line < head + len - 2; line = end + 2) {
                end = strstr(line, "\r\n");
                *end = '\0';
                if (strpbrk(line, "\r\n"))
                        return client_link_broken(c, err, "a line that ends wrongly");
                int r = line == head ? read_status(c, line, a, err) : take_header(c, line, a, err);
                if (r < 0)
                        return r;
        }
        if (a->chunked && a->length != CLIENT_UNKNOWN)
                return client_link_broken(c, err, "two lengths");
        return 0;
}

int client_head_read(struct client_link *c, int64_t until, struct client_answer *ret, struct cella_err *err)
{
        struct client_answer a;
        size_t len = 0;
        int r = read_head(c, until, &len, err);
        if (r == 0)
                r = parse_head(c, c->buffer, len, &a, err);
        if (r < 0)
                return r;
        c->at = len;
        *ret = a;
        return 0;
}
