#include "cli/client/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/parse.h"

static int set_socket(struct client_address *a, const char *path, struct cella_err *err)
{
        if (strlen(path) >= sizeof a->socket || !*path)
                return err_say(err, CELLA_INVALID_REQUEST, -ENAMETOOLONG,
                               "the path of a socket must have 1 to %zu characters", sizeof a->socket - 1);
        snprintf(a->socket, sizeof a->socket, "%s", path);
        snprintf(a->where, sizeof a->where, "%s", path);
        snprintf(a->host, sizeof a->host, "cella");
        snprintf(a->url, sizeof a->url, "http://127.0.0.1"); /* never connected to */
        return 0;
}

static bool is_name(const char *host)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
        const size_t len = strlen(host);
        return len > 0 && len <= 253 && strspn(host, letters) == len && host[0] != '-' && host[0] != '.' &&
               !strstr(host, "..") && strspn(host, "0123456789.") < len;
}

/* libcurl resolves a name.  localhost is not looked up, but a certificate can be for this name. */
static int set_port(struct client_address *a, const char *host, unsigned port)
{
        struct in6_addr address;
        const char *scheme = a->tls ? "https" : "http";
        if (!a->tls && !strcmp(host, "localhost"))
                host = "127.0.0.1";
        if (inet_pton(AF_INET, host, &address) == 1 || is_name(host))
                snprintf(a->url, sizeof a->url, "%s://%.253s:%u", scheme, host, port);
        else if (inet_pton(AF_INET6, host, &address) == 1)
                snprintf(a->url, sizeof a->url, "%s://[%.46s]:%u", scheme, host, port);
        else
                return -EINVAL;
        return 0;
}

/* Parses http[s]://HOST[:PORT][/].  HOST is a name or an address; an IPv6 address is in brackets. */
static int set_url(struct client_address *a, const char *url, struct cella_err *err)
{
        char copy[264], *host = copy, *rest;
        a->tls = !strncmp(url, "https://", 8);
        const size_t skip = a->tls ? 8 : 7;
        uint64_t port = a->tls ? 443 : 7070;
        if ((!a->tls && strncmp(url, "http://", skip) != 0) || strlen(url + skip) >= sizeof copy)
                goto bad;
        snprintf(copy, sizeof copy, "%s", url + skip);
        size_t len = strlen(copy);
        if (len > 0 && copy[len - 1] == '/')
                copy[len - 1] = '\0';
        snprintf(a->where, sizeof a->where, "%.*s%s", (int)skip, url, copy);
        snprintf(a->host, sizeof a->host, "%s", copy);
        if (*host == '[') {
                host++;
                rest = strchr(host, ']');
                if (!rest)
                        goto bad;
                *rest++ = '\0';
        } else {
                rest = host + strcspn(host, ":");
        }
        if (*rest == ':') {
                *rest++ = '\0';
                if (parse_count(rest, &port) < 0 || port == 0 || port > 65535)
                        goto bad;
        } else if (*rest) {
                goto bad;
        }
        if (set_port(a, host, (unsigned)port) == 0)
                return 0;
bad:
        err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "CELLA_URL is invalid: '%.80s'", url);
        return err_hint(err, "set it to http://HOST:PORT or https://HOST:PORT, such as "
                             "http://127.0.0.1:7070; HOST is a name or an IP address");
}

/* Whether this is a socket of our own user.  Any user can create names in /tmp, so other sockets are ignored.
 */
static bool is_own(const char *path)
{
        struct stat st;
        return lstat(path, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == geteuid();
}

static int find_daemon(struct client_address *a, const char *socket, struct cella_err *err)
{
        const char *from_socket = getenv("CELLA_SOCKET"), *url = getenv("CELLA_URL");
        const char *run = getenv("XDG_RUNTIME_DIR");
        char own[100];
        if (socket)
                return set_socket(a, socket, err);
        if (from_socket && *from_socket)
                return set_socket(a, from_socket, err);
        if (url && *url)
                return set_url(a, url, err);
        /* The same places as in `cella serve`: a daemon of this user comes before that of the machine. */
        if (geteuid() != 0 && run && *run == '/' &&
            (size_t)snprintf(own, sizeof own, "%s/cella.sock", run) < sizeof own && is_own(own))
                return set_socket(a, own, err);
        snprintf(own, sizeof own, "/tmp/cella-%u/cella.sock", (unsigned)geteuid());
        if (geteuid() != 0 && is_own(own))
                return set_socket(a, own, err);
        return set_socket(a, CLIENT_SOCKET, err);
}

static int find_key(struct client_address *a, struct cella_err *err)
{
        const char *key = getenv("CELLA_KEY");
        if (!key || !*key)
                return 0;
        for (const char *p = key; *p; p++)
                if (*p <= ' ' || *p >= 0x7f || p - key > 1000)
                        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL, "CELLA_KEY is not a key");
        a->key = key;
        return 0;
}

int client_address_find(const char *socket, struct client_address *ret, struct cella_err *err)
{
        struct client_address a = {0};
        int r = find_daemon(&a, socket, err);
        if (r == 0)
                r = find_key(&a, err);
        const char *ca = getenv("CELLA_CA_FILE");
        a.ca = ca && *ca ? ca : NULL;
        if (r == 0)
                *ret = a;
        return r;
}
