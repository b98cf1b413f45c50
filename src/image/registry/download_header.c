/* image/registry/download_header.c -- strict parsing of the headers that are used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "image/registry/download_internal.h"

#define VALUE_MAX DOWNLOAD_URL_MAX
#define RETRY_AFTER_MAX 86400u

/* Parses digits only.  Returns 0 and *ret, or -1. */
static int read_number(const char *text, size_t len, uint64_t *ret)
{
        uint64_t value = 0;
        if (len == 0 || len > 18)
                return -1;
        for (size_t i = 0; i < len; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return -1;
                value = value * 10 + (uint64_t)(text[i] - '0');
        }
        *ret = value;
        return 0;
}

/* bytes FROM-TO/TOTAL, where the total may be "*". */
static void read_range(struct download_answer *a, const char *value)
{
        uint64_t from, to, total = DOWNLOAD_UNKNOWN;
        a->has_range = false;
        if (strncmp(value, "bytes ", 6) != 0)
                return;
        value += 6;
        size_t n = strcspn(value, "-");
        if (value[n] != '-' || read_number(value, n, &from) < 0)
                return;
        value += n + 1;
        n = strcspn(value, "/");
        if (value[n] != '/' || read_number(value, n, &to) < 0 || to < from)
                return;
        value += n + 1;
        if (strcmp(value, "*") != 0 && (read_number(value, strlen(value), &total) < 0 || to >= total))
                return;
        a->has_range = true;
        a->range_from = from;
        a->range_total = total;
}

static void read_type(struct download_answer *a, const char *value)
{
        size_t n = strcspn(value, "; \t");
        a->type[0] = '\0';
        if (n < sizeof a->type) {
                memcpy(a->type, value, n);
                a->type[n] = '\0';
        }
}

static void download_header_take(struct download_answer *a, const char *name, const char *value)
{
        uint64_t number;
        if (strcasecmp(name, "content-type") == 0) {
                read_type(a, value);
        } else if (strcasecmp(name, "content-length") == 0) {
                if (read_number(value, strlen(value), &number) == 0)
                        a->length = number;
        } else if (strcasecmp(name, "content-range") == 0) {
                read_range(a, value);
        } else if (strcasecmp(name, "docker-content-digest") == 0) {
                snprintf(a->digest, sizeof a->digest, "%s", digest_is_valid(value) ? value : "");
        } else if (strcasecmp(name, "retry-after") == 0) { /* dates are ignored */
                if (read_number(value, strlen(value), &number) == 0)
                        a->retry_after = number > RETRY_AFTER_MAX ? RETRY_AFTER_MAX : (unsigned)number;
        } else if (strcasecmp(name, "www-authenticate") == 0) {
                (void)challenge_read(value, &a->challenge); /* an invalid one is ignored */
        } else if (strcasecmp(name, "location") == 0) {
                free(a->location);
                a->location = strdup(value);
        }
}

/* Another answer begins, for example after "100 Continue". */
static void download_header_begin(struct download_answer *a)
{
        free(a->location);
        *a = (struct download_answer){.length = DOWNLOAD_UNKNOWN, .range_total = DOWNLOAD_UNKNOWN};
}

size_t download_on_header(char *line, size_t size, size_t n, void *arg)
{
        struct transfer *t = arg;
        size_t len = size * n;
        char text[VALUE_MAX];
        t->header_bytes += len;
        if (t->header_bytes > DOWNLOAD_HEADERS_MAX) {
                t->big_headers = true;
                return 0;
        }
        if (len > 5 && memcmp(line, "HTTP/", 5) == 0)
                download_header_begin(&t->public.answer);
        const char *colon = memchr(line, ':', len);
        if (!colon || len >= sizeof text || memchr(line, '\0', len))
                return len;
        memcpy(text, line, len);
        text[len] = '\0';
        char *value = text + (colon - line);
        *value++ = '\0';
        value += strspn(value, " \t");
        size_t end = strlen(value);
        while (end > 0 && strchr(" \t\r\n", value[end - 1]))
                end--;
        value[end] = '\0';
        download_header_take(&t->public.answer, text, value);
        return len;
}
