/* HTTP/1 requests: valid ones, and all known ambiguities that two parsers read differently. */
#include "egress/http1.h"

#include "test.h"

#define BYTES(text) text, sizeof(text) - 1

/* A copy of exactly the length, so that a read beyond it is found. */
static int read_exactly(const char *data, size_t length, struct http1_request *request, struct http1 *body,
                        const char **why)
{
        char *copy = malloc(length);
        int r;

        memcpy(copy, data, length);
        r = http1_read_head(copy, length, request, body, why);
        free(copy);
        return r;
}

/* Feeds the head byte by byte until there is a result. */
static int read_slowly(const char *data, size_t length, struct http1_request *request, struct http1 *body,
                       const char **why)
{
        int r = 0;

        for (size_t i = 0; i <= length && r == 0; i++) {
                r = read_exactly(data, i, request, body, why);
                if (r == 0)
                        CHECK(http1_is_done(body)); /* nothing is taken for a body */
        }
        return r;
}

/* Parses the head at once, and byte by byte. */
static int read_head(const char *data, size_t length, struct http1_request *request, struct http1 *body,
                     const char **why)
{
        struct http1_request slowly = {0};
        struct http1 slow_body = {0};
        const char *slow_why = NULL;
        int r;

        *request = (struct http1_request){0};
        *body = (struct http1){0};
        *why = NULL;
        r = read_exactly(data, length, request, body, why);
        CHECK_INT(read_slowly(data, length, &slowly, &slow_body, &slow_why), r);
        if (r == 1) {
                CHECK_INT(memcmp(&slowly, request, sizeof(slowly)), 0);
                CHECK_INT(memcmp(&slow_body, body, sizeof(slow_body)), 0);
        }
        return r;
}

struct good {
        const char *text;
        const char *to;    /* name or address, and port */
        const char *flags; /* c: CONNECT, a: absolute, u: upgrade, k: chunked */
        uint64_t length;
};

static void check_good(const struct good *c)
{
        struct http1_request request;
        struct http1 body;
        const char *why;
        char to[300], address[46], flags[8] = "";

        if (read_head(c->text, strlen(c->text), &request, &body, &why) != 1) {
                CHECK_STR(why, "");
                CHECK_STR(c->text, "");
                return;
        }
        address_write(&request.to.address, address);
        snprintf(to, sizeof(to), "%s:%u", request.to.name[0] ? request.to.name : address, request.to.port);
        CHECK_STR(to, c->to);
        if (request.is_connect)
                strcat(flags, "c");
        if (request.is_absolute)
                strcat(flags, "a");
        if (request.wants_upgrade)
                strcat(flags, "u");
        if (body.chunked)
                strcat(flags, "k");
        CHECK_STR(flags, c->flags);
        CHECK_INT(body.left, c->length);
        CHECK_INT(http1_is_done(&body), c->length == 0 && !body.chunked);
        CHECK_INT(request.head_length, strstr(c->text, "\r\n\r\n") + 4 - c->text);
}

TEST(valid_requests_give_their_host)
{
        static const struct good cases[] = {
                {"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "example.com:0", ""},
                {"GET / HTTP/1.1\r\nhost:EXAMPLE.com.\r\n\r\n", "example.com:0", ""},
                {"GET / HTTP/1.1\r\nHOST: \t example.com \t \r\n\r\n", "example.com:0", ""},
                {"GET / HTTP/1.1\r\nHost: example.com:8080\r\n\r\n", "example.com:8080", ""},
                {"GET / HTTP/1.1\r\nHost: 1.2.3.4\r\n\r\n", "1.2.3.4:0", ""},
                {"GET / HTTP/1.1\r\nHost: 1.2.3.4:81\r\n\r\n", "1.2.3.4:81", ""},
                {"GET / HTTP/1.1\r\nHost: [2001:db8::1]\r\n\r\n", "2001:db8::1:0", ""},
                {"GET / HTTP/1.1\r\nHost: [::1]:65535\r\n\r\n", "::1:65535", ""},
                {"GET / HTTP/1.0\r\nHost: example.com\r\n\r\n", "example.com:0", ""},
                {"GET /\xc3\xbc?a=b#c HTTP/1.1\r\nHost: a.b\r\n\r\n", "a.b:0", ""},
                {"GET //evil.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "a.b:0", ""},
                {"GET /http://evil.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "a.b:0", ""},
                {"OPTIONS * HTTP/1.1\r\nHost: a.b\r\n\r\n", "a.b:0", ""},
                {"M-SEARCH / HTTP/1.1\r\nHost: a.b\r\n\r\n", "a.b:0", ""},
                {"GET / HTTP/1.1\r\nHost: a.b\r\nX-Host: evil\r\nX: \xff\x80\t.\r\nY:\r\nZ: \r\n\r\n",
                 "a.b:0", ""},
                {"POST / HTTP/1.1\r\nHost: a.b\r\nContent-Length: 0\r\n\r\n", "a.b:0", ""},
                {"POST / HTTP/1.1\r\nContent-length: 5\r\nHost: a.b\r\n\r\nhello", "a.b:0", "", 5},
                {"GET / HTTP/1.1\r\nHost: a.b\r\nContent-Length:  12345678901234567 \r\n\r\n", "a.b:0", "",
                 12345678901234567},
                {"POST / HTTP/1.0\r\nHost: a.b\r\nContent-Length: 7\r\n\r\n", "a.b:0", "", 7},
                {"POST / HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\n\r\n", "a.b:0", "k"},
                {"POST / HTTP/1.1\r\nHost: a.b\r\ntransfer-encoding:\tCHUNKED\t\r\n\r\n", "a.b:0", "k"},
                /* as to a proxy */
                {"GET http://example.com/x HTTP/1.1\r\nHost: example.com\r\n\r\n", "example.com:0", "a"},
                {"GET HTTP://Example.com. HTTP/1.1\r\nHost: EXAMPLE.com\r\n\r\n", "example.com:0", "a"},
                {"GET http://example.com:80/ HTTP/1.1\r\nHost: example.com\r\n\r\n", "example.com:80", "a"},
                {"GET http://example.com/ HTTP/1.1\r\nHost: example.com:80\r\n\r\n", "example.com:0", "a"},
                {"GET http://example.com:81/ HTTP/1.1\r\nHost: example.com:81\r\n\r\n", "example.com:81",
                 "a"},
                {"GET http://[::1]:8080/ HTTP/1.1\r\nHost: [0:0::1]:8080\r\n\r\n", "::1:8080", "a"},
                {"GET http://example.com/ HTTP/1.0\r\n\r\n", "example.com:0", "a"},
                {"GET http://a.b/http://evil.example/@x HTTP/1.1\r\nHost: a.b\r\n\r\n", "a.b:0", "a"},
                {"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", "example.com:443", "c"},
                {"CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n", "example.com:443", "c"},
                {"CONNECT example.com:443 HTTP/1.0\r\n\r\n", "example.com:443", "c"},
                {"CONNECT example.com:22 HTTP/1.1\r\nProxy-Authorization: x\r\n\r\n", "example.com:22", "c"},
                {"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n", "2001:db8::1:443",
                 "c"},
                {"CONNECT 1.2.3.4:443 HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "1.2.3.4:443", "c"},
                /* upgrades; but not to another HTTP that is not parsed */
                {"GET / HTTP/1.1\r\nHost: a.b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "a.b:0",
                 "u"},
                {"GET / HTTP/1.1\r\nHost: a.b\r\nUpgrade: tcp\r\n\r\n", "a.b:0", "u"},
                {"GET / HTTP/1.1\r\nHost: a.b\r\nUpgrade: h2c\r\n\r\n", "a.b:0", ""},
                {"GET / HTTP/1.1\r\nHost: a.b\r\nUpgrade: H2C, websocket\r\n\r\n", "a.b:0", ""},
                {"GET / HTTP/1.1\r\nHost: a.b\r\nUpgrade: websocket,h2c\r\n\r\n", "a.b:0", ""},
                {"GET / HTTP/1.1\r\nHost: a.b\r\nUpgrade: websocket, \tHTTP/2.0\r\n\r\n", "a.b:0", ""},
                {"GET / HTTP/1.1\r\nHost: a.b\r\nUpgrade: xh2c\r\n\r\n", "a.b:0", "u"},
                {"GET / HTTP/1.1\r\nHost: a.b\r\nUpgrade:\r\n\r\n", "a.b:0", ""},
                /* the remaining bytes belong to the next request */
                {"GET / HTTP/1.1\r\nHost: a.b\r\n\r\nGET / HTTP/1.1\r\nHost: c.d\r\n\r\n", "a.b:0", ""},
                {"GET / HTTP/1.1\r\nHost: a.b\r\n\r\nwhatever\n\0", "a.b:0", ""},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
                check_good(&cases[i]);
}

TEST(the_path_of_an_absolute_target_is_found)
{
        static const struct {
                const char *text, *target, *path;
        } cases[] = {
                {"GET http://a.b/x?y HTTP/1.1\r\nHost: a.b\r\n\r\n", "http://a.b/x?y", "/x?y"},
                {"GET http://a.b HTTP/1.1\r\nHost: a.b\r\n\r\n", "http://a.b", ""},
                {"GET http://a.b:80// HTTP/1.1\r\nHost: a.b\r\n\r\n", "http://a.b:80//", "//"},
                {"DELETE http://[::1]/a HTTP/1.1\r\nHost: [::1]\r\n\r\n", "http://[::1]/a", "/a"},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct http1_request r;
                struct http1 body;
                const char *why;
                char target[64], path[64];

                CHECK_INT(read_head(cases[i].text, strlen(cases[i].text), &r, &body, &why), 1);
                snprintf(target, sizeof(target), "%.*s", (int)r.target_length, cases[i].text + r.target_at);
                snprintf(path, sizeof(path), "%.*s", (int)(r.target_at + r.target_length - r.path_at),
                         cases[i].text + r.path_at);
                CHECK_STR(target, cases[i].target);
                CHECK_STR(path, cases[i].path);
        }
}

struct bad {
        const char *text;
        size_t length;
        const char *why;
};

static void check_bad(const struct bad *cases, size_t n)
{
        for (size_t i = 0; i < n; i++) {
                struct http1_request request;
                struct http1 body;
                const char *why;
                int r = read_head(cases[i].text, cases[i].length, &request, &body, &why);

                if (r != -EPROTO || why == NULL || strcmp(why, cases[i].why) != 0) {
                        CHECK_STR(r == 1 ? "taken" : why, cases[i].why);
                        CHECK_STR(cases[i].text, "");
                }
                CHECK_INT(request.head_length, 0);
        }
}

static const char line_end[] = "a line that does not end in CR LF";
static const char request_line[] = "a request line that is not METHOD TARGET HTTP/1.1";
static const char version[] = "a version other than HTTP/1.0 and HTTP/1.1";
static const char no_host[] = "a host that is neither a name nor an address";
static const char other_host[] = "a Host header that is not the target's";
static const char no_word[] = "an invalid header name";
static const char wrong_length[] = "a wrong Content-Length";
static const char wrong_coding[] = "a Transfer-Encoding other than chunked";
static const char wrong_port[] = "a wrong port";

#define BAD(text, why)                                                                                       \
        {                                                                                                    \
                BYTES(text), why                                                                             \
        }
#define ARRAY(a) (a), sizeof(a) / sizeof(*(a))

TEST(request_lines_that_are_refused)
{
        static const struct bad cases[] = {
                BAD("GET /\r\n\r\n", request_line), /* HTTP/0.9 */
                BAD("GET / \r\n\r\n", request_line),
                BAD("GET / HTTP/0.9\r\nHost: a.b\r\n\r\n", version),
                BAD("GET / HTTP/1.2\r\nHost: a.b\r\n\r\n", version),
                BAD("GET / HTTP/2.0\r\nHost: a.b\r\n\r\n", version),
                BAD("GET / HTTP/1.10\r\nHost: a.b\r\n\r\n", request_line),
                BAD("GET / HTTP/1,1\r\nHost: a.b\r\n\r\n", version),
                BAD("GET / http/1.1\r\nHost: a.b\r\n\r\n", request_line),
                BAD("GET / HTTP/1.1 \r\nHost: a.b\r\n\r\n", request_line),
                BAD("GET / ICAP/1.1\r\nHost: a.b\r\n\r\n", request_line),
                BAD("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", version), /* HTTP/2 itself */
                BAD("GET  / HTTP/1.1\r\nHost: a.b\r\n\r\n", request_line),
                BAD("GET /  HTTP/1.1\r\nHost: a.b\r\n\r\n", request_line),
                BAD("GET\t/\tHTTP/1.1\r\nHost: a.b\r\n\r\n", request_line),
                BAD("GET /a b HTTP/1.1\r\nHost: a.b\r\n\r\n", request_line),
                BAD(" GET / HTTP/1.1\r\nHost: a.b\r\n\r\n", request_line),
                BAD("get / HTTP/1.1\r\nHost: a.b\r\n\r\n", request_line),
                BAD("\r\nGET / HTTP/1.1\r\nHost: a.b\r\n\r\n", request_line),
                BAD("\r\n\r\n", request_line),
                BAD("GET /\x01 HTTP/1.1\r\nHost: a.b\r\n\r\n", "a target with control characters"),
                BAD("GET /\x7f HTTP/1.1\r\nHost: a.b\r\n\r\n", "a target with control characters"),
                BAD("GET * HTTP/1.1\r\nHost: a.b\r\n\r\n", "a target that is neither a path nor http://"),
                BAD("GET a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "a target that is neither a path nor http://"),
                BAD("GET a.b:80 HTTP/1.1\r\nHost: a.b\r\n\r\n",
                    "a target that is neither a path nor http://"),
                BAD("GET ?x HTTP/1.1\r\nHost: a.b\r\n\r\n", "a target that is neither a path nor http://"),
                BAD("GET ftp://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
                    "a target that is neither a path nor http://"),
                BAD("GET http:/a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n",
                    "a target that is neither a path nor http://"),
                BAD("GET https://a.b/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "https:// requires CONNECT"),
                BAD("GET http:// HTTP/1.1\r\nHost: a.b\r\n\r\n", "an empty host"),
                BAD("GET http:///x HTTP/1.1\r\nHost: a.b\r\n\r\n", "an empty host"),
                BAD("GET http://a.b?x HTTP/1.1\r\nHost: a.b\r\n\r\n", "a target without a path"),
                BAD("GET http://a.b#x HTTP/1.1\r\nHost: a.b\r\n\r\n", "a target without a path"),
                BAD("GET http://a.b#@evil.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", "a target without a path"),
                BAD("GET http://a.b\\@evil.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", no_host),
                BAD("GET http://a.b@evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", no_host),
                BAD("GET http://a.b:80@evil.example/ HTTP/1.1\r\nHost: a.b\r\n\r\n", wrong_port),
                BAD("GET http://a%2eb/ HTTP/1.1\r\nHost: a.b\r\n\r\n", no_host),
                BAD("GET http://a.b:/ HTTP/1.1\r\nHost: a.b\r\n\r\n", wrong_port),
                BAD("GET http://[::1/ HTTP/1.1\r\nHost: [::1]\r\n\r\n", no_host),
                BAD("GET http://[::1]x/ HTTP/1.1\r\nHost: [::1]\r\n\r\n", no_host),
                BAD("GET http://2130706433/ HTTP/1.1\r\nHost: 2130706433\r\n\r\n", no_host),
                BAD("CONNECT a.b HTTP/1.1\r\nHost: a.b\r\n\r\n", "CONNECT without a port"),
                BAD("CONNECT a.b: HTTP/1.1\r\nHost: a.b\r\n\r\n", wrong_port),
                BAD("CONNECT a.b:0 HTTP/1.1\r\nHost: a.b\r\n\r\n", wrong_port),
                BAD("CONNECT a.b:443/ HTTP/1.1\r\nHost: a.b\r\n\r\n", wrong_port),
                BAD("CONNECT /x HTTP/1.1\r\nHost: a.b\r\n\r\n", no_host),
                BAD("CONNECT http://a.b:443 HTTP/1.1\r\nHost: a.b\r\n\r\n", wrong_port),
                BAD("CONNECT x@a.b:443 HTTP/1.1\r\nHost: a.b\r\n\r\n", no_host),
                BAD("CONNECT [::1]443 HTTP/1.1\r\nHost: a.b\r\n\r\n", no_host),
                BAD("CONNECT ::1:443 HTTP/1.1\r\nHost: a.b\r\n\r\n", wrong_port),
                BAD("CONNECT 0x7f.1:443 HTTP/1.1\r\nHost: 0x7f.1\r\n\r\n", no_host),
                BAD("CONNECT  HTTP/1.1\r\nHost: a.b\r\n\r\n", "an empty host"),
                BAD("CONNECT a.b:443 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "CONNECT with a body"),
                BAD("CONNECT a.b:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "CONNECT with a body"),
        };
        check_bad(ARRAY(cases));
}

TEST(hosts_that_are_refused)
{
        static const struct bad cases[] = {
                BAD("GET / HTTP/1.1\r\n\r\n", "no Host header"),
                BAD("GET / HTTP/1.0\r\n\r\n", "no Host header"),
                BAD("GET http://a.b/ HTTP/1.1\r\n\r\n", "no Host header"),
                BAD("GET / HTTP/1.1\r\nX-Host: a.b\r\nHosts: a.b\r\nHos: a.b\r\n\r\n", "no Host header"),
                BAD("GET / HTTP/1.1\r\nHost: a.b\r\nHost: a.b\r\n\r\n", "two Host headers"),
                BAD("GET / HTTP/1.1\r\nHost: a.b\r\nhOST: evil.example\r\n\r\n", "two Host headers"),
                BAD("GET / HTTP/1.1\r\nHost: a.b\r\nX: y\r\nHost:\r\n\r\n", "two Host headers"),
                BAD("GET / HTTP/1.1\r\nHost:\r\n\r\n", "an empty host"),
                BAD("GET / HTTP/1.1\r\nHost: \t \r\n\r\n", "an empty host"),
                BAD("GET / HTTP/1.1\r\nHost: a.b, evil.example\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: a.b evil.example\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: a.b/\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: http://a.b\r\n\r\n", wrong_port),
                BAD("GET / HTTP/1.1\r\nHost: x@a.b\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: a.b:80@evil.example\r\n\r\n", wrong_port),
                BAD("GET / HTTP/1.1\r\nHost: a.b#.evil.example\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: a.b%00.evil.example\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: a..b\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: a.b..\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: *.b\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: b\xc3\xbc"
                    "cher.example\r\n\r\n",
                    no_host),
                BAD("GET / HTTP/1.1\r\nHost: 127.1\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: 017700000001\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: [127.0.0.1]\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: [fe80::1%25eth0]\r\n\r\n", no_host),
                BAD("GET / HTTP/1.1\r\nHost: ::1\r\n\r\n", wrong_port),
                BAD("GET / HTTP/1.1\r\nHost: a.b:\r\n\r\n", wrong_port),
                BAD("GET / HTTP/1.1\r\nHost: a.b:0\r\n\r\n", wrong_port),
                BAD("GET / HTTP/1.1\r\nHost: a.b:65536\r\n\r\n", wrong_port),
                BAD("GET / HTTP/1.1\r\nHost: a.b:4294967376\r\n\r\n", wrong_port),
                BAD("GET / HTTP/1.1\r\nHost: a.b:080\r\n\r\n", wrong_port),
                BAD("GET / HTTP/1.1\r\nHost: a.b:+80\r\n\r\n", wrong_port),
                BAD("GET / HTTP/1.1\r\nHost: a.b:80:80\r\n\r\n", wrong_port),
                BAD("GET / HTTP/1.1\r\nHost: a.b:8\t0\r\n\r\n", wrong_port),
                BAD("GET http://a.b/ HTTP/1.1\r\nHost: evil.example\r\n\r\n", other_host),
                BAD("GET http://a.b/ HTTP/1.0\r\nHost: evil.example\r\n\r\n", other_host),
                BAD("GET http://a.b/ HTTP/1.1\r\nHost: a.b:8080\r\n\r\n", other_host),
                BAD("GET http://a.b:8080/ HTTP/1.1\r\nHost: a.b\r\n\r\n", other_host),
                BAD("GET http://1.2.3.4/ HTTP/1.1\r\nHost: 1.2.3.5\r\n\r\n", other_host),
                BAD("GET http://1.2.3.4/ HTTP/1.1\r\nHost: a.b\r\n\r\n", other_host),
                BAD("CONNECT a.b:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", other_host),
                BAD("CONNECT a.b:443 HTTP/1.1\r\nHost: a.b:22\r\n\r\n", other_host),
        };
        check_bad(ARRAY(cases));
}

#define HEAD "POST / HTTP/1.1\r\nHost: a.b\r\n"

TEST(request_smuggling_is_refused)
{
        static const struct bad cases[] = {
                /* two lengths */
                BAD(HEAD "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG",
                    "both Content-Length and Transfer-Encoding"),
                BAD(HEAD "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n",
                    "both Content-Length and Transfer-Encoding"),
                BAD(HEAD "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n",
                    "both Content-Length and Transfer-Encoding"),
                BAD(HEAD "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "two Content-Length headers"),
                BAD(HEAD "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", "two Content-Length headers"),
                BAD(HEAD "Content-Length: 0\r\nX: y\r\ncontent-length: 44\r\n\r\n",
                    "two Content-Length headers"),
                BAD(HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
                    "two Transfer-Encoding headers"),
                BAD(HEAD "Transfer-Encoding: chunked\r\nTransfer-encoding: cow\r\n\r\n",
                    "two Transfer-Encoding headers"),
                /* lengths that are read in two ways */
                BAD(HEAD "Content-Length:\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: +5\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: -5\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: 5, 5\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: 5,6\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: 5 6\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: 0x5\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: 05\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: 5.0\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: 5e1\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: 5;x\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: \"5\"\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: 1_0\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: \xd9\xa5\r\n\r\n", wrong_length), /* an Arabic 5 */
                BAD(HEAD "Content-Length: 18446744073709551616\r\n\r\n", wrong_length),
                BAD(HEAD "Content-Length: 18446744073709551621\r\n\r\n", wrong_length), /* 5, if it wraps */
                BAD(HEAD "Content-Length: 9223372036854775808\r\n\r\n", wrong_length),
                /* codings that one reader takes for chunked and another not */
                BAD(HEAD "Transfer-Encoding: xchunked\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: chunkedx\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: chunke\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding:\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: identity\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: chunked, identity\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: chunked, chunked\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: chunked,\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: ,chunked\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: chunked;x=y\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: \"chunked\"\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: 'chunked'\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: chunked\xc2\xa0\r\n\r\n", wrong_coding),
                BAD(HEAD "Transfer-Encoding: \x0b"
                         "chunked\r\n\r\n",
                    "a header with control characters"),
                BAD(HEAD "Transfer-Encoding: chunked\x0c\r\n\r\n", "a header with control characters"),
                BAD("POST / HTTP/1.0\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\n\r\n",
                    "Transfer-Encoding in HTTP/1.0"),
                /* names of headers */
                BAD(HEAD "Content-Length : 5\r\n\r\n", no_word),
                BAD(HEAD "Transfer-Encoding\t: chunked\r\n\r\n", no_word),
                BAD(HEAD "Transfer Encoding: chunked\r\n\r\n", no_word),
                BAD(HEAD "\x0bTransfer-Encoding: chunked\r\n\r\n", no_word),
                BAD(HEAD "Transfer-Encoding\xa0: chunked\r\n\r\n", no_word),
                BAD(HEAD "\"Content-Length\": 5\r\n\r\n", no_word),
                BAD(HEAD "Content(Length): 5\r\n\r\n", no_word),
                BAD(HEAD ": 5\r\n\r\n", "a header without a name"),
                BAD(HEAD "Content-Length\r\n\r\n", "a header without a name"),
                BAD(HEAD "GET /evil HTTP/1.1\r\nHost: evil\r\n\r\n", "a header without a name"),
                BAD(HEAD "Transfer_Encoding: chunked\r\n\r\n",
                    "a header with _ that some servers treat like one with -"),
                BAD(HEAD "content_length: 5\r\n\r\n",
                    "a header with _ that some servers treat like one with -"),
                BAD(HEAD "Upgrade: a\r\nUpgrade: b\r\n\r\n", "two Upgrade headers"),
                /* folded lines */
                BAD(HEAD "X: y\r\n Content-Length: 5\r\n\r\n", "a folded header"),
                BAD(HEAD "Transfer-Encoding:\r\n\tchunked\r\n\r\n", wrong_coding),
                BAD(HEAD "X:\r\n\tchunked\r\n\r\n", "a folded header"),
                BAD("GET / HTTP/1.1\r\n Host: a.b\r\nHost: a.b\r\n\r\n", "a folded header"),
                BAD(HEAD " \r\n\r\n", "a folded header"),
                /* line ends */
                BAD("GET / HTTP/1.1\nHost: a.b\n\n", line_end),
                BAD("GET / HTTP/1.1\r\nHost: a.b\n\r\n", line_end),
                BAD(HEAD "X: y\nContent-Length: 5\r\n\r\n", line_end),
                BAD(HEAD "X: y\rContent-Length: 5\r\n\r\n", line_end),
                BAD(HEAD "X: y\r\r\nContent-Length: 5\r\n\r\n", line_end),
                BAD(HEAD "\n", line_end),
                BAD(HEAD "\n\r\n", line_end),
                BAD(HEAD "X: y\r\n\rGET", line_end),
                BAD(HEAD "X: a\0b\r\n\r\n", "a NUL in a head"),
                BAD("GET / HTTP/1.1\r\nHost: a.b\0.evil\r\n\r\n", "a NUL in a head"),
                BAD("GET / HTTP/1.1\r\nHost\0: a.b\r\n\r\n", "a NUL in a head"),
                BAD(HEAD "X: \x1b[0m\r\n\r\n", "a header with control characters"),
                BAD(HEAD "X: \x7f\r\n\r\n", "a header with control characters"),
        };
        check_bad(ARRAY(cases));
}

/* A refusal must not look like a hang. */
TEST(invalid_heads_are_refused_before_their_end)
{
        static const struct {
                const char *text;
                size_t length;
        } cases[] = {
                {BYTES("GET / HTTP/1.1\n")},
                {BYTES("\x16")},
                {BYTES("\x16\x03\x01")},
                {BYTES("\0")},
                {BYTES("GET / HTTP/1.1\r\r")},
                {BYTES("SSH-2.0-")},
                {BYTES("\r\n")},
                {BYTES("get / HT")},
                {BYTES("GET /\0")},
                {BYTES("EHLO x\r\n")},
                {BYTES("GET /\r\n")},
                {BYTES("GET / HTTP/2.0\r\nHo")},
                {BYTES("GET ftp://a.b/ HTTP/1.1\r\n")},
        };
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                struct http1_request request;
                struct http1 body = {0};
                const char *why = NULL;

                CHECK_INT(read_exactly(cases[i].text, cases[i].length, &request, &body, &why), -EPROTO);
                CHECK(why != NULL);
        }
}

TEST(heads_have_a_maximum)
{
        static char head[2 * HTTP1_HEAD_MAX];
        struct http1_request request;
        struct http1 body = {0};
        const char *why;
        size_t length = (size_t)sprintf(head, "GET / HTTP/1.1\r\nHost: a.b\r\nX: ");

        memset(head + length, 'x', sizeof(head) - length);
        memcpy(head + HTTP1_HEAD_MAX - 4, "\r\n\r\n", 4);
        CHECK_INT(http1_read_head(head, HTTP1_HEAD_MAX - 1, &request, &body, &why), 0);
        CHECK_INT(body.at_head ? body.left : 0,
                  HTTP1_HEAD_MAX - 1); /* bytes that need not be examined again */
        CHECK_INT(http1_read_head(head, HTTP1_HEAD_MAX, &request, &body, &why), 1);
        CHECK_INT(request.head_length, HTTP1_HEAD_MAX);
        body = (struct http1){0};
        CHECK_INT(http1_read_head(head, sizeof(head), &request, &body, &why), 1);
        memcpy(head + HTTP1_HEAD_MAX - 4, "x\r\n\r\n", 5);
        body = (struct http1){0};
        CHECK_INT(http1_read_head(head, HTTP1_HEAD_MAX, &request, &body, &why), -EMSGSIZE);
        CHECK_INT(http1_read_head(head, sizeof(head), &request, &body, &why), -EMSGSIZE);
}

/* State remembered from another head must not cause a read past the end of this one. */
TEST(the_state_of_one_head_does_not_affect_another)
{
        static const char two[] =
                "GET / HTTP/1.1\r\nHost: a.b\r\n\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n";
        struct http1_request request;
        const char *why;

        for (uint64_t left = 0; left < 200; left++) {
                struct http1 body = {.at_head = 1, .left = left};
                int r = http1_read_head(two, sizeof(two) - 1, &request, &body, &why);

                if (r == 1) {
                        CHECK_STR(request.to.name, "a.b");
                        CHECK_INT(request.head_length, 29);
                }
        }
}

TEST(bytes_that_look_like_a_request)
{
        CHECK(http1_looks_like("", 0));
        CHECK(http1_looks_like("G", 1));
        CHECK(http1_looks_like("GET", 3));
        CHECK(http1_looks_like("GET /", 5));
        CHECK(http1_looks_like("M-SEARCH * HTTP/1.1", 19));
        CHECK(http1_looks_like("GET \x01\x02", 6));
        CHECK(!http1_looks_like(" GET", 4));
        CHECK(!http1_looks_like("get", 3));
        CHECK(!http1_looks_like("GET\r\n", 5));
        CHECK(!http1_looks_like("SSH-2.0", 7));
        CHECK(!http1_looks_like("\x16\x03\x01", 3));
        CHECK(!http1_looks_like("\0", 1));
        CHECK(!http1_looks_like("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 36));
}
