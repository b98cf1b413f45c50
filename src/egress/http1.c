/* egress/http1.c -- see http1.h. */
#include "egress/http1.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/auto.h"
#include "base/hex.h"

#define METHOD_MAX 32u

struct text {
        const char *at;
        size_t length;
};

static char http1_lower(char c)
{
        if (c >= 'A' && c <= 'Z')
                return (char)(c - 'A' + 'a');
        return c;
}

/* word must be lower case. */
static bool is_word(struct text text, const char *word)
{
        size_t i;

        for (i = 0; i < text.length && word[i] != '\0'; i++)
                if (http1_lower(text.at[i]) != word[i])
                        return false;
        return i == text.length && word[i] == '\0';
}

static bool is_token_char(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

/* No existing method has other characters. */
static bool is_method_char(char c)
{
        return (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

static bool is_control(char c)
{
        return (unsigned char)c < ' ' || c == 0x7f;
}

int http1_looks_like(const char *data, size_t length)
{
        for (size_t i = 0; i < length; i++) {
                if (data[i] == ' ')
                        return i > 0;
                if (!is_method_char(data[i]) || i >= METHOD_MAX)
                        return 0;
        }
        return 1;
}

/* ---- authorities ---- */

/* Parses NAME[:PORT], as in Host and in targets.  User names, empty ports and escapes are refused. */
static const char *read_authority(struct text text, struct destination *ret)
{
        struct destination to = {0};
        const char *colon = NULL;
        unsigned port = 0;

        if (text.length == 0)
                return "an empty host";
        if (text.at[0] == '[') {
                const char *end = memchr(text.at, ']', text.length);

                if (end != NULL && end + 1 < text.at + text.length && end[1] == ':')
                        colon = end + 1;
        } else {
                colon = memchr(text.at, ':', text.length);
        }
        if (colon != NULL) {
                const char *digit = colon + 1, *end = text.at + text.length;

                if (digit == end || end - digit > 5 || *digit == '0')
                        return "a wrong port";
                for (; digit < end; digit++) {
                        if (*digit < '0' || *digit > '9')
                                return "a wrong port";
                        port = port * 10 + (unsigned)(*digit - '0');
                }
                if (port > 65535)
                        return "a wrong port";
                text.length = (size_t)(colon - text.at);
        }
        to.port = (uint16_t)port;
        if (text.at[0] == '[' || name_normalise(text.at, text.length, to.name) < 0) {
                to.name[0] = '\0';
                if (address_parse(text.at, text.length, &to.address) < 0)
                        return "a host that is neither a name nor an address";
        }
        *ret = to;
        return NULL;
}

static bool is_same_host(const struct destination *a, const struct destination *b)
{
        return strcmp(a->name, b->name) == 0 &&
               (a->name[0] != '\0' || memcmp(&a->address, &b->address, sizeof(a->address)) == 0);
}

/* ---- heads ---- */

struct head {
        const char *data;
        struct http1_request request;
        struct destination target, host;
        bool has_target, has_host, has_length, has_encoding, is_1_0;
        uint64_t length;
        struct text upgrade;
};

/* Parses http://authority/path, as sent to a proxy. */
static const char *read_absolute(struct head *h, struct text target)
{
        static const char scheme[] = "http://";
        struct text authority = {target.at, target.length};
        size_t n = sizeof(scheme) - 1;

        if (target.length < n || !is_word((struct text){target.at, n}, scheme))
                return target.length >= 8 && is_word((struct text){target.at, 8}, "https://")
                               ? "https:// requires CONNECT"
                               : "a target that is neither a path nor http://";
        authority.at += n;
        authority.length = 0;
        while (n + authority.length < target.length && strchr("/?#", authority.at[authority.length]) == NULL)
                authority.length++;
        n += authority.length;
        if (n < target.length && target.at[n] != '/')
                return "a target without a path";
        h->request.is_absolute = 1;
        h->request.path_at = h->request.target_at + (uint32_t)n;
        h->has_target = true;
        return read_authority(authority, &h->target);
}

static const char *read_target(struct head *h, struct text method, struct text target)
{
        const char *why;

        for (size_t i = 0; i < target.length; i++)
                if (is_control(target.at[i]))
                        return "a target with control characters";
        h->request.target_at = (uint32_t)(target.at - h->data);
        h->request.target_length = (uint32_t)target.length;
        if (is_word(method, "connect")) {
                h->request.is_connect = 1;
                h->has_target = true;
                why = read_authority(target, &h->target);
                return why == NULL && h->target.port == 0 ? "CONNECT without a port" : why;
        }
        if (target.length == 0)
                return "a request line without a target";
        if (target.at[0] == '/' || (target.length == 1 && target.at[0] == '*' && is_word(method, "options")))
                return NULL;
        return read_absolute(h, target);
}

static const char *read_request_line(struct head *h, struct text line)
{
        static const char wrong[] = "a request line that is not METHOD TARGET HTTP/1.1";
        const char *first = memchr(line.at, ' ', line.length), *second;
        const char *end = line.at + line.length;
        struct text method, version;

        if (first == NULL || first == line.at || !http1_looks_like(line.at, line.length))
                return wrong;
        second = memchr(first + 1, ' ', (size_t)(end - first - 1));
        if (second == NULL)
                return wrong;
        method = (struct text){line.at, (size_t)(first - line.at)};
        version = (struct text){second + 1, (size_t)(end - second - 1)};
        if (version.length != 8 || memcmp(version.at, "HTTP/", 5) != 0)
                return wrong;
        if (memcmp(version.at, "HTTP/1.0", 8) == 0)
                h->is_1_0 = true;
        else if (memcmp(version.at, "HTTP/1.1", 8) != 0)
                return "a version other than HTTP/1.0 and HTTP/1.1";
        return read_target(h, method, (struct text){first + 1, (size_t)(second - first - 1)});
}

static const char *read_host(struct head *h, struct text value)
{
        if (h->has_host)
                return "two Host headers";
        h->has_host = true;
        return read_authority(value, &h->host);
}

static const char *read_length(struct head *h, struct text value)
{
        if (h->has_length)
                return "two Content-Length headers";
        h->has_length = true;
        /* 18 digits fit into 63 bits, which other implementations use. */
        if (value.length == 0 || value.length > 18 || (value.at[0] == '0' && value.length > 1))
                return "a wrong Content-Length";
        for (size_t i = 0; i < value.length; i++) {
                if (value.at[i] < '0' || value.at[i] > '9')
                        return "a wrong Content-Length";
                h->length = h->length * 10 + (uint64_t)(value.at[i] - '0');
        }
        return NULL;
}

static const char *read_encoding(struct head *h, struct text value)
{
        if (h->has_encoding)
                return "two Transfer-Encoding headers";
        h->has_encoding = true;
        return is_word(value, "chunked") ? NULL : "a Transfer-Encoding other than chunked";
}

static const char *read_upgrade(struct head *h, struct text value)
{
        if (h->upgrade.at != NULL)
                return "two Upgrade headers";
        h->upgrade = value;
        return NULL;
}

/* Some servers treat _ like -, others do not. */
static const char *refuse_lookalike(struct head *h, struct text value)
{
        (void)h;
        (void)value;
        return "a header with _ that some servers treat like one with -";
}

static const char *read_header(struct head *h, struct text line)
{
        static const struct {
                const char *name;
                const char *(*read)(struct head *h, struct text value);
        } known[] = {
                {"host", read_host},
                {"content-length", read_length},
                {"transfer-encoding", read_encoding},
                {"upgrade", read_upgrade},
                {"content_length", refuse_lookalike},
                {"transfer_encoding", refuse_lookalike},
        };
        const char *colon = memchr(line.at, ':', line.length);
        struct text name, value;

        if (line.at[0] == ' ' || line.at[0] == '\t')
                return "a folded header";
        if (colon == NULL || colon == line.at)
                return "a header without a name";
        name = (struct text){line.at, (size_t)(colon - line.at)};
        value = (struct text){colon + 1, line.length - name.length - 1};
        for (size_t i = 0; i < name.length; i++)
                if (!is_token_char(name.at[i]))
                        return "an invalid header name";
        for (size_t i = 0; i < value.length; i++)
                if (is_control(value.at[i]) && value.at[i] != '\t')
                        return "a header with control characters";
        while (value.length > 0 && (value.at[0] == ' ' || value.at[0] == '\t')) {
                value.at++;
                value.length--;
        }
        while (value.length > 0 && (value.at[value.length - 1] == ' ' || value.at[value.length - 1] == '\t'))
                value.length--;
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
                if (is_word(name, known[i].name))
                        return known[i].read(h, value);
        return NULL;
}

/* HTTP/2 on the same connection could contain requests to any destination: it is not parsed, so an upgrade
 * to it is not allowed.  (A client that sends HTTP/2 directly is refused: it starts with "PRI * HTTP/2.0".)
 */
static bool is_other_protocol(struct text upgrade)
{
        if (upgrade.length == 0)
                return false;
        for (size_t i = 0; i < upgrade.length; i++) {
                struct text word = {upgrade.at + i, upgrade.length - i};

                if (i > 0 && strchr(", \t", upgrade.at[i - 1]) == NULL)
                        continue;
                if ((word.length >= 2 && is_word((struct text){word.at, 2}, "h2")) ||
                    (word.length >= 4 && is_word((struct text){word.at, 4}, "http")))
                        return false;
        }
        return true;
}

/* Checks that the headers are consistent. */
static const char *http1_conclude(struct head *h)
{
        struct http1_request *request = &h->request;
        uint16_t target_port = h->target.port, host_port = h->host.port;

        if (!h->has_host && !(h->has_target && (h->is_1_0 || request->is_connect)))
                return "no Host header";
        if (h->has_length && h->has_encoding)
                return "both Content-Length and Transfer-Encoding";
        if (h->has_encoding && h->is_1_0)
                return "Transfer-Encoding in HTTP/1.0";
        if (request->is_connect && (h->has_encoding || h->length > 0))
                return "CONNECT with a body";
        if (h->has_target && h->has_host) {
                if (request->is_absolute) {
                        target_port = target_port != 0 ? target_port : 80;
                        host_port = host_port != 0 ? host_port : 80;
                } else if (host_port == 0) {
                        host_port = target_port;
                }
                if (!is_same_host(&h->target, &h->host) || target_port != host_port)
                        return "a Host header that is not the target's";
        }
        request->to = h->has_target ? h->target : h->host;
        request->wants_upgrade = is_other_protocol(h->upgrade);
        return NULL;
}

/* Parses a complete head, which ends in an empty line. */
static const char *read_lines(struct head *h, size_t length)
{
        size_t at = 0;
        const char *why;

        for (;;) {
                const char *end = memchr(h->data + at, '\n', length - at);
                struct text line = {h->data + at, (size_t)(end - (h->data + at)) - 1};

                if (line.length == 0 && at > 0)
                        break;
                why = at == 0 ? read_request_line(h, line) : read_header(h, line);
                if (why != NULL)
                        return why;
                at += line.length + 2;
        }
        h->request.head_length = (uint32_t)at + 2;
        return http1_conclude(h);
}

/* Searches the empty line from `at` on and reports errors that are visible at once. */
static int find_end(const char *data, size_t length, size_t at, size_t *ret, const char **ret_why)
{
        for (; at < length; at++) {
                bool after_cr = at > 0 && data[at - 1] == '\r';

                if (data[at] == '\0' || after_cr != (data[at] == '\n')) {
                        *ret_why = data[at] == '\0' ? "a NUL in a head" : "a line that does not end in CR LF";
                        return -EPROTO;
                }
                if (data[at] == '\n' && at >= 3 && data[at - 2] == '\n') {
                        *ret = at + 1;
                        return 1;
                }
        }
        return 0;
}

/* Checks the request line as soon as it is complete, before the rest of the head: a client of another
 * protocol that waits for an answer (mail, HTTP/0.9) gets the error at once.  *is_judged: already checked. */
static const char *judge_line(const char *data, size_t seen, size_t length, bool *is_judged)
{
        const char *end = *is_judged ? NULL : memchr(data + seen, '\n', length - seen);
        struct head h = {.data = data};

        if (end == NULL)
                return NULL;
        *is_judged = true;
        return read_request_line(&h, (struct text){data, (size_t)(end - data) - 1});
}

int http1_read_head(const char *data, size_t length, struct http1_request *ret, struct http1 *ret_body,
                    const char **ret_why)
{
        struct head h = {.data = data};
        bool is_judged = ret_body->at_head && ret_body->state != 0;
        size_t whole = length < HTTP1_HEAD_MAX ? length : HTTP1_HEAD_MAX, end = 0;
        /* Bytes examined before are skipped, or a head that arrives byte by byte would take quadratic time.
         */
        size_t seen = ret_body->at_head && ret_body->left < whole ? (size_t)ret_body->left : 0;
        int r = find_end(data, whole, seen, &end, ret_why);

        if (r == 0 && length > 0 && !http1_looks_like(data, length)) {
                *ret_why = "not an HTTP request";
                return -EPROTO;
        }
        if (r == 0 && length >= HTTP1_HEAD_MAX)
                return -EMSGSIZE;
        if (r == 0) {
                *ret_why = judge_line(data, seen, whole, &is_judged);
                if (*ret_why != NULL)
                        return -EPROTO;
                *ret_body = (struct http1){.at_head = 1, .left = whole, .state = is_judged};
        }
        if (r <= 0)
                return r;
        *ret_why = read_lines(&h, end);
        if (*ret_why != NULL)
                return -EPROTO;
        *ret = h.request;
        *ret_body = (struct http1){.left = h.length, .chunked = h.has_encoding};
        return 1;
}

/* ---- bodies ---- */

enum state {
        CHUNK_SIZE, /* start of a chunked body */
        CHUNK_SIZE_LF,
        CHUNK_DATA,
        CHUNK_DATA_CR,
        CHUNK_DATA_LF,
        CHUNK_LAST_CR, /* after the chunk of length 0 */
        CHUNK_LAST_LF,
        CHUNK_DONE,
};

#define CHUNK_DIGITS_MAX 15u /* fits into 63 bits */

static int chunk_digit(struct http1 *body, char c)
{
        const int digit = hex_value(c);

        if (c == '\r' && body->line_length > 0) {
                body->state = CHUNK_SIZE_LF;
                return 0;
        }
        if (digit < 0 || ++body->line_length > CHUNK_DIGITS_MAX)
                return -EPROTO;
        body->left = body->left << 4 | (uint64_t)digit;
        return 0;
}

/* Processes one byte that is not chunk data. */
static int chunk_step(struct http1 *body, char c)
{
        static const struct {
                char wanted;
                uint8_t next;
        } fixed[] = {
                [CHUNK_DATA_CR] = {'\r', CHUNK_DATA_LF},
                [CHUNK_DATA_LF] = {'\n', CHUNK_SIZE},
                [CHUNK_LAST_CR] = {'\r', CHUNK_LAST_LF},
                [CHUNK_LAST_LF] = {'\n', CHUNK_DONE},
        };

        if (body->state == CHUNK_SIZE)
                return chunk_digit(body, c);
        if (body->state == CHUNK_SIZE_LF) {
                if (c != '\n')
                        return -EPROTO;
                body->state = body->left > 0 ? CHUNK_DATA : CHUNK_LAST_CR;
                body->line_length = 0;
                return 0;
        }
        if (c != fixed[body->state].wanted)
                return -EPROTO;
        body->state = fixed[body->state].next;
        return 0;
}

int http1_is_done(const struct http1 *body)
{
        return body->at_head || (body->chunked ? body->state == CHUNK_DONE : body->left == 0);
}

long http1_skip_body(struct http1 *body, const char *data, size_t length)
{
        size_t at = 0;

        while (at < length && !http1_is_done(body)) {
                if (!body->chunked || body->state == CHUNK_DATA) {
                        size_t n = length - at < body->left ? length - at : (size_t)body->left;

                        body->left -= n;
                        at += n;
                        if (body->chunked && body->left == 0)
                                body->state = CHUNK_DATA_CR;
                        continue;
                }
                if (chunk_step(body, data[at]) < 0)
                        return -EPROTO;
                at++;
        }
        return (long)at;
}
