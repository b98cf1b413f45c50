#include "image/store/reference.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

#define DEFAULT_REGISTRY "docker.io"
#define DEFAULT_TAG "latest"
#define LABEL_MAX 63
#define HOST_MAX 253

static bool is_lower(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_word(char c)
{
        return is_lower(c) || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_hex(char c)
{
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool digest_is_valid(const char *text)
{
        if (!text || strncmp(text, "sha256:", 7) != 0)
                return false;
        size_t n = strspn(text + 7, "0123456789abcdef");
        return n == 64 && text[7 + n] == '\0';
}

/* ---- checks of parts, each of `len` bytes ---- */

/* Letters and digits with single dots, one or two underscores or any number of dashes between them. */
static bool is_component(const char *text, size_t len)
{
        size_t i = 0;
        for (;;) {
                size_t begin = i;
                while (i < len && is_lower(text[i]))
                        i++;
                if (i == begin)
                        return false;
                if (i == len)
                        return true;
                if (text[i] == '-')
                        while (i < len && text[i] == '-')
                                i++;
                else if (text[i] == '_')
                        i += i + 1 < len && text[i + 1] == '_' ? 2 : 1;
                else if (text[i] == '.')
                        i++;
                else
                        return false;
        }
}

static bool is_repository(const char *text, size_t len)
{
        const char *end = text + len;
        for (;;) {
                const char *slash = memchr(text, '/', (size_t)(end - text));
                if (!is_component(text, (size_t)((slash ? slash : end) - text)))
                        return false;
                if (!slash)
                        return true;
                text = slash + 1;
        }
}

static bool is_tag(const char *text, size_t len)
{
        if (len == 0 || len >= REFERENCE_TAG_SIZE || !is_word(text[0]))
                return false;
        for (size_t i = 1; i < len; i++)
                if (!is_word(text[i]) && text[i] != '.' && text[i] != '-')
                        return false;
        return true;
}

static bool is_host_name(const char *text, size_t len)
{
        size_t label = 0;
        if (len > HOST_MAX)
                return false;
        for (size_t i = 0; i <= len; i++) {
                if (i == len || text[i] == '.') {
                        if (label == 0 || label > LABEL_MAX || text[i - 1] == '-')
                                return false;
                        label = 0;
                } else if (is_lower(text[i]) || (text[i] == '-' && label > 0)) {
                        label++;
                } else {
                        return false;
                }
        }
        return true;
}

static bool is_host(const char *text, size_t len)
{
        if (len == 0 || text[0] != '[')
                return is_host_name(text, len);
        if (len < 4 || len > 47 || text[len - 1] != ']')
                return false;
        for (size_t i = 1; i < len - 1; i++)
                if (!is_hex(text[i]) && text[i] != ':' && text[i] != '.')
                        return false;
        return true;
}

/* HOST or HOST:PORT. */
static bool is_registry(const char *text, size_t len)
{
        size_t host = len, digits = 0;
        unsigned port = 0;
        while (digits < len && text[len - 1 - digits] >= '0' && text[len - 1 - digits] <= '9')
                digits++;
        if (digits < len && text[len - 1 - digits] == ':') {
                if (digits == 0 || digits > 5)
                        return false;
                for (size_t i = len - digits; i < len; i++)
                        port = port * 10 + (unsigned)(text[i] - '0');
                if (port == 0 || port > 65535)
                        return false;
                host = len - 1 - digits;
        }
        return is_host(text, host);
}

/* ---- parsing ---- */

static int bad(struct cella_err *err, const char *text, const char *why)
{
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "'%.120s' is not the name of an image: %s", text, why);
        err_hint(err, "[HOST[:PORT]/]NAME[:TAG][@sha256:DIGEST], such as python:3.12-slim");
        return -EINVAL;
}

static void reference_copy(char *to, const char *from, size_t len)
{
        memcpy(to, from, len);
        to[len] = '\0';
}

/* The part before the first slash is a host if it has a dot or a port, or is localhost.  (Docker also treats
 * a word with capitals as a host; in lower case, which is the same host, it would be another image.) */
static size_t take_registry(const char *text, size_t len, struct reference *ret)
{
        const char *slash = memchr(text, '/', len);
        size_t n = slash ? (size_t)(slash - text) : 0;
        if (!slash || (!memchr(text, '.', n) && !memchr(text, ':', n) &&
                       !(n == 9 && memcmp(text, "localhost", 9) == 0))) {
                strcpy(ret->registry, DEFAULT_REGISTRY);
                return 0;
        }
        if (n >= sizeof ret->registry)
                return n + 1; /* the tag stays empty */
        for (size_t i = 0; i < n; i++)
                ret->registry[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
        ret->registry[n] = '\0';
        if (strcmp(ret->registry, "index.docker.io") == 0 ||
            strcmp(ret->registry, "registry-1.docker.io") == 0)
                strcpy(ret->registry, DEFAULT_REGISTRY);
        return n + 1;
}

static int take_repository(const char *whole, const char *text, size_t len, struct reference *ret,
                           struct cella_err *err)
{
        bool official = strcmp(ret->registry, DEFAULT_REGISTRY) == 0 && !memchr(text, '/', len);
        size_t before = official ? strlen("library/") : 0;
        if (len == 0)
                return bad(err, whole, "nothing is named");
        if (len + before >= sizeof ret->repository)
                return bad(err, whole, "it is too long");
        if (!is_repository(text, len))
                return bad(err, whole,
                           "lower case letters and digits, with . _ - between them, and / between words");
        if (official)
                memcpy(ret->repository, "library/", before);
        reference_copy(ret->repository + before, text, len);
        return 0;
}

int reference_parse(const char *text, struct reference *ret, struct cella_err *err)
{
        struct reference r = {0};
        size_t len = strnlen(text, REFERENCE_SIZE);
        if (len == REFERENCE_SIZE)
                return bad(err, text, "it is too long");
        const char *at = memchr(text, '@', len);
        if (at) {
                if (!digest_is_valid(at + 1))
                        return bad(err, text, "after @ there has to be sha256: and 64 hexadecimal digits");
                memcpy(r.digest, at + 1, sizeof r.digest); /* valid digests have this length */
                len = (size_t)(at - text);
        }
        size_t host = take_registry(text, len, &r);
        if (!is_registry(r.registry, strlen(r.registry)))
                return bad(err, text, "what is before the first / is not HOST or HOST:PORT");
        const char *path = text + host, *colon = memchr(path, ':', len - host);
        size_t path_len = colon ? (size_t)(colon - path) : len - host;
        if (colon) {
                if (!is_tag(colon + 1, (size_t)(text + len - colon - 1)))
                        return bad(err, text, "a tag has at most 128 letters, digits, . _ and -");
                reference_copy(r.tag, colon + 1, (size_t)(text + len - colon - 1));
        } else if (!at) {
                strcpy(r.tag, DEFAULT_TAG);
        }
        int e = take_repository(text, path, path_len, &r, err);
        if (e < 0)
                return e;
        *ret = r;
        return 0;
}

void reference_write(const struct reference *r, char ret[REFERENCE_SIZE])
{
        snprintf(ret, REFERENCE_SIZE, "%s/%s%s%s%s%s", r->registry, r->repository, r->tag[0] ? ":" : "",
                 r->tag, r->digest[0] ? "@" : "", r->digest);
}

const char *reference_host(const struct reference *r)
{
        return strcmp(r->registry, DEFAULT_REGISTRY) == 0 ? "registry-1.docker.io" : r->registry;
}

/* Returns the length of the host without its port. */
static size_t host_length(const char *host)
{
        const char *bracket = host[0] == '[' ? strchr(host, ']') : NULL;
        size_t inner = bracket ? (size_t)(bracket - host) : 0;
        return inner + strcspn(host + inner, ":");
}

/* 0.0.0.0 also connects to this machine. */
static bool is_near(const unsigned char ip[4])
{
        static const unsigned char any[4];
        return ip[0] == 127 || memcmp(ip, any, sizeof any) == 0;
}

/* [::1], [::] and IPv4 addresses in IPv6 form: [::ffff:127.0.0.1]. */
static bool is_near_ipv6(const unsigned char ip[16])
{
        static const unsigned char zero[10], mapped[2] = {0xff, 0xff}, one[4] = {0, 0, 0, 1};
        if (memcmp(ip, zero, sizeof zero) != 0)
                return false;
        if (memcmp(ip + 10, mapped, sizeof mapped) == 0)
                return is_near(ip + 12);
        return memcmp(ip + 10, zero, 2) == 0 && (is_near(ip + 12) || memcmp(ip + 12, one, sizeof one) == 0);
}

bool reference_host_is_loopback(const char *host)
{
        unsigned char ip[16];
        char text[INET6_ADDRSTRLEN];
        size_t n = host_length(host);
        if ((n == 9 || (n == 10 && host[9] == '.')) && strncasecmp(host, "localhost", 9) == 0)
                return true;
        bool ipv6 = n > 2 && host[0] == '[' && host[n - 1] == ']';
        if (ipv6) {
                host++;
                n -= 2;
        }
        if (n >= sizeof text)
                return false;
        reference_copy(text, host, n);
        /* Only an address in its regular form counts: 127.1.evil, 127.0.0.1x or 127.0.0.01 is a name. */
        return ipv6 ? inet_pton(AF_INET6, text, ip) == 1 && is_near_ipv6(ip)
                    : inet_pton(AF_INET, text, ip) == 1 && is_near(ip);
}
