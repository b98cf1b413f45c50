/* test/fuzz/egress_http1.c -- a connection of HTTP/1 requests: however it is cut, the same requests are seen,
 * and none that a sloppier reader would see more in. */
#include <ctype.h>
#include <strings.h>

#include "egress/http1.h"
#include "fuzz.h"

#define REQUESTS_MAX 16

struct seen {
        int end; /* how it ended: 0, or the error */
        size_t n;
        size_t at; /* offset of the rest */
        struct http1_request requests[REQUESTS_MAX];
};

/* Lines of the head that begin so. */
static unsigned lines_with(const char *head, size_t length, const char *name)
{
        size_t n = strlen(name);
        unsigned found = 0;

        for (size_t i = 1; i + n < length; i++)
                if (head[i - 1] == '\n' && strncasecmp(head + i, name, n) == 0)
                        found++;
        return found;
}

static void check_head(const char *head, const struct http1_request *r, const struct http1 *body)
{
        size_t length = r->head_length;
        unsigned hosts = lines_with(head, length, "host:"),
                 lengths = lines_with(head, length, "content-length:"),
                 codings = lines_with(head, length, "transfer-encoding:");

        if (memchr(head, '\0', length) != NULL || memcmp(head + length - 4, "\r\n\r\n", 4) != 0)
                abort();
        if (hosts > 1 || (hosts == 0 && !r->is_absolute && !r->is_connect))
                abort();
        if (lengths + codings > 1 || body->chunked != (codings == 1))
                abort();
        if (r->target_at + r->target_length > length || r->path_at > r->target_at + r->target_length)
                abort();
        if (lines_with(head, length, " ") + lines_with(head, length, "\t") > 0)
                abort();
        for (size_t i = 0; i < length; i++)
                if ((head[i] == '\n') != (i > 0 && head[i - 1] == '\r'))
                        abort();
}

/* Parses in steps of so many bytes, each time a copy of exact size. */
static void follow(const char *data, size_t size, size_t step, struct seen *ret)
{
        struct http1 body = {0};
        size_t have = 0;

        memset(ret, 0, sizeof(*ret));
        while (have < size && ret->end == 0) {
                bool more = false;

                have = have + step < size ? have + step : size;
                while (!more && ret->end == 0 && ret->at < have && ret->n < REQUESTS_MAX) {
                        char *copy = malloc(have - ret->at);
                        const char *why = NULL;
                        long r;

                        memcpy(copy, data + ret->at, have - ret->at);
                        if (http1_is_done(&body)) {
                                struct http1_request *request = &ret->requests[ret->n];

                                r = http1_read_head(copy, have - ret->at, request, &body, &why);
                                if (r == 1) {
                                        check_head(copy, request, &body);
                                        ret->n++;
                                        ret->at += request->head_length;
                                }
                                more = r == 0;
                        } else {
                                r = http1_skip_body(&body, copy, have - ret->at);
                                if (r >= 0)
                                        ret->at += (size_t)r;
                                if (r > (long)have)
                                        abort();
                        }
                        if (r < 0)
                                ret->end = (int)r;
                        free(copy);
                }
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct seen whole, parts;

        if (size < 1 || size > 8192)
                return 0;
        follow((const char *)data + 1, size - 1, size, &whole);
        follow((const char *)data + 1, size - 1, 1u + data[0] % 32, &parts);
        if (whole.n != parts.n || whole.end != parts.end ||
            memcmp(whole.requests, parts.requests, whole.n * sizeof(*whole.requests)) != 0)
                abort();
        return 0;
}
