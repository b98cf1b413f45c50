#include "cli/client/head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

#define HEAD_MAX 16384 /* all lines together */
#define LINE_SIZE 8192
#define INTERIM_MAX 8

void head_init(struct head *h)
{
        *h = (struct head){.length = HEAD_UNKNOWN};
}

static bool client_head_refuse(struct head *h, const char *why)
{
        h->wrong = why;
        return false;
}

static bool take_status(struct head *h, const char *line)
{
        if (strncmp(line, "HTTP/1.", 7) != 0 || (line[7] != '0' && line[7] != '1') || line[8] != ' ' ||
            strspn(line + 9, "0123456789") != 3 || (line[12] && line[12] != ' '))
                return client_head_refuse(h, "this is not HTTP/1");
        *h = (struct head){
                .status = atoi(line + 9), .length = HEAD_UNKNOWN, .interim = h->interim, .bytes = h->bytes};
        return (h->status >= 100 && h->status <= 599) || client_head_refuse(h, "an unknown status");
}

static bool take_length(struct head *h, const char *text)
{
        uint64_t value;
        if (!*text || text[strspn(text, "0123456789")] || parse_count(text, &value) < 0 || value > INT64_MAX)
                return client_head_refuse(h, "a Content-Length that is not a number");
        if (h->length != HEAD_UNKNOWN && h->length != value)
                return client_head_refuse(h, "two lengths");
        h->length = value;
        return true;
}

static void client_head_keep(char *out, size_t size, const char *value)
{
        snprintf(out, size, "%.*s", (int)strcspn(value, ";, \t"), value);
}

static bool client_head_take_header(struct head *h, char *line)
{
        static const char token[] =
                "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        size_t name_len = strspn(line, token);
        if (name_len == 0 || line[name_len] != ':')
                return client_head_refuse(h, "a header without a name");
        line[name_len] = '\0';
        char *value = line + name_len + 1;
        value += strspn(value, " \t");
        for (size_t n = strlen(value); n > 0 && strchr(" \t", value[n - 1]); n--)
                value[n - 1] = '\0';
        if (!strcasecmp(line, "Content-Length"))
                return take_length(h, value);
        if (!strcasecmp(line, "Transfer-Encoding")) {
                if (strcasecmp(value, "chunked") != 0 || h->chunked)
                        return client_head_refuse(h, "an unknown transfer encoding");
                h->chunked = true;
        } else if (!strcasecmp(line, "Content-Type")) {
                client_head_keep(h->type, sizeof h->type, value);
        } else if (!strcasecmp(line, "Sec-WebSocket-Accept")) {
                client_head_keep(h->accept, sizeof h->accept, value);
        }
        return true;
}

static bool end_head(struct head *h)
{
        if (h->chunked && h->length != HEAD_UNKNOWN)
                return client_head_refuse(h, "two lengths");
        h->complete = h->status >= 200 || h->status == 101;
        return h->complete || ++h->interim <= INTERIM_MAX ||
               client_head_refuse(h, "it has only interim answers (1xx)");
}

bool head_line(struct head *h, const char *line, size_t len)
{
        char copy[LINE_SIZE];
        h->bytes += len;
        if (h->bytes > HEAD_MAX || len >= sizeof copy)
                return client_head_refuse(h, "its headers are too long");
        if (len < 2 || memcmp(line + len - 2, "\r\n", 2) != 0)
                return client_head_refuse(h, "a line with an invalid end");
        len -= 2;
        for (size_t i = 0; i < len; i++)
                if ((unsigned char)line[i] < ' ' && line[i] != '\t')
                        return client_head_refuse(h, "a control character in its headers");
        memcpy(copy, line, len);
        copy[len] = '\0';
        if (h->complete) /* a trailer */
                return true;
        if (len == 0)
                return h->status ? end_head(h) : client_head_refuse(h, "this is not HTTP/1");
        return !strncmp(copy, "HTTP/", 5) || h->status == 0 ? take_status(h, copy)
                                                            : client_head_take_header(h, copy);
}
