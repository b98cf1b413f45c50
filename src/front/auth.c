/* front/auth.c -- who sent a request, and whether it is allowed at all.
 *
 * Any web page can make a browser on this machine send requests to loopback, and with DNS rebinding it can
 * read the answers.  The browser always sends the name it used (Host) and the page it came from (Origin, or
 * Sec-Fetch-Site for images and the like).  All of them are checked before anything else. */
#include "front/auth.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "core/settings/http_fields.h"

static int refuse_name(const char *what, const char *value, struct cella_err *err)
{
        err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: %s '%.80s'", what, value);
        return err_hint(err, "a web page may have sent you here; if this is the daemon's name, add it to the "
                             "setting http.allowed_hosts");
}

/* "host:port", "[v6]:port" or "host": compares the host part. */
static bool host_is(const char *value, const char *host)
{
        size_t len = value[0] == '[' ? strcspn(value, "]") + 1 : strcspn(value, ":");
        return strlen(host) == len && !strncasecmp(value, host, len) &&
               (value[len] == '\0' ||
                (value[len] == ':' && strspn(value + len + 1, "0123456789") == strlen(value + len + 1)));
}

static bool is_loopback_name(const char *value)
{
        return host_is(value, "localhost") || host_is(value, "127.0.0.1") || host_is(value, "[::1]");
}

bool auth_is_loopback(const char *listen)
{
        return is_loopback_name(listen) || !strncmp(listen, "127.", 4);
}

/* A daemon that listens on all addresses has any of them.  Rebinding needs a name. */
static bool is_own_address(const char *own, const char *host)
{
        struct in6_addr address;
        char text[64];
        const bool v6 = host[0] == '[';
        if (strcmp(own, "0.0.0.0") != 0 && strcmp(own, "[::]") != 0)
                return false;
        snprintf(text, sizeof text, "%.*s", (int)strcspn(host, v6 ? "]" : ":") + v6, host);
        if (!host_is(host, text)) /* the port is not a number */
                return false;
        text[strlen(text) - v6] = '\0';
        return inet_pton(v6 ? AF_INET6 : AF_INET, text + v6, &address) == 1;
}

static bool is_allowed(const json_t *settings, const char *host)
{
        const json_t *list = json_object_get(json_object_get(settings, "http"), "allowed_hosts"), *name;
        size_t i;
        json_array_foreach ((json_t *)list, i, name)
                if (!strcmp(json_string_value(name), "*") || host_is(host, json_string_value(name)))
                        return true;
        return false;
}

/* A proxy in front of the daemon also connects from loopback, or as root.  Its clients are anybody. */
static bool is_forwarded(const struct http_request *request)
{
        static const char *const names[] = {"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host",
                                            "Forwarded", "X-Real-IP"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
                if (http_header(request, names[i]))
                        return true;
        return false;
}

/* Follows X-Forwarded-For from the last entry, which the peer has added, to the first one that is not a
 * proxy's.  A proxy may add a header of its own after those of its client instead of an entry. */
static void forwarded_for(const json_t *settings, const char *list, char ret[AUTH_CLIENT_SIZE])
{
        for (size_t end = strlen(list); end > 0;) {
                size_t begin = end;
                while (begin > 0 && list[begin - 1] != ',')
                        begin--;
                const char *at = list + begin + strspn(list + begin, " \t");
                size_t len = (size_t)(list + end - at);
                while (len > 0 && (at[len - 1] == ' ' || at[len - 1] == '\t'))
                        len--;
                if (len >= 46 || !http_settings_is_address(at, len))
                        return; /* what is further left cannot be believed */
                snprintf(ret, AUTH_CLIENT_SIZE, "%.*s", (int)len, at);
                if (!http_settings_trusts(settings, at, len) || begin == 0)
                        return;
                end = begin - 1;
        }
}

void auth_client(const struct api *api, const struct http_request *request, char ret[AUTH_CLIENT_SIZE])
{
        const char *peer = http_peer(request)->address;
        const json_t *settings = api->core->settings.document;
        const bool v6 = peer[0] == '[';
        snprintf(ret, AUTH_CLIENT_SIZE, "%s", peer);
        if (http_peer(request)->local ||
            !http_settings_trusts(settings, peer + v6, strcspn(peer + v6, v6 ? "]" : ":")))
                return;
        char *list = http_header_all(request, "X-Forwarded-For");
        if (list)
                forwarded_for(settings, list, ret);
        free(list);
}

static int check_host(const struct api *api, const struct http_request *request, struct cella_err *err)
{
        const char *host = http_header(request, "Host");
        char own[128];
        if (!host)
                return refuse_name("Host", "", err);
        snprintf(own, sizeof own, "%s", api->listen);
        char *colon = strrchr(own, ':');
        if (colon)
                *colon = '\0';
        if (is_loopback_name(host) || host_is(host, own) || is_own_address(own, host) ||
            is_allowed(api->core->settings.document, host))
                return 0;
        return refuse_name("Host", host, err);
}

static int check_origin(const struct http_request *request, struct cella_err *err)
{
        const char *origin = http_header(request, "Origin"), *host = http_header(request, "Host");
        if (!origin)
                return 0;
        const char *name = !strncmp(origin, "http://", 7)    ? origin + 7
                           : !strncmp(origin, "https://", 8) ? origin + 8
                                                             : NULL;
        return name && host && !strcasecmp(name, host) ? 0 : refuse_name("Origin", origin, err);
}

/* A page can load our resources without an Origin, for example as an image.  It cannot read them, but it
 * can measure time.  Links to our web page are allowed. */
static int check_site(const struct http_request *request, bool open, struct cella_err *err)
{
        const char *site = http_header(request, "Sec-Fetch-Site");
        if (!site || open || !strcmp(site, "same-origin") || !strcmp(site, "none"))
                return 0;
        return refuse_name("Sec-Fetch-Site", site, err);
}

static const char *secret_of(const struct http_request *request)
{
        const char *bearer = http_header(request, "Authorization");
        if (bearer && !strncasecmp(bearer, "Bearer ", 7))
                return bearer + 7 + strspn(bearer + 7, " ");
        return http_header(request, "X-API-Key");
}

static bool is_websocket(const struct http_request *request)
{
        const char *at = http_header(request, "Upgrade");
        while (at && *at) {
                at += strspn(at, " \t,");
                size_t len = strcspn(at, " \t,");
                if (len == 9 && !strncasecmp(at, "websocket", len))
                        return true;
                at += len;
        }
        return false;
}

/* A script in a browser cannot set a header of a WebSocket request, but it can name protocols: "cella,
 * cella.key.KEY".  A key in the URL would end up in logs and histories.  The header is ignored in requests
 * that are no upgrade. */
static const char *secret_of_websocket(const struct http_request *request, char *ret, size_t size)
{
        static const char prefix[] = "cella.key.";
        const char *at = http_header(request, "Sec-WebSocket-Protocol");
        if (!is_websocket(request))
                return NULL;
        while (at && *at) {
                at += strspn(at, " \t,");
                size_t len = strcspn(at, " \t,"), skip = sizeof prefix - 1;
                if (len > skip && len - skip < size && !strncmp(at, prefix, skip)) {
                        memcpy(ret, at + skip, len - skip);
                        ret[len - skip] = '\0';
                        return ret;
                }
                at += len;
        }
        return NULL;
}

int auth_check(struct api *api, const struct http_request *request, bool open, struct caller *ret,
               struct cella_err *err)
{
        const struct http_peer *peer = http_peer(request);
        if (peer->plain) {
                err_say(err, CELLA_INVALID_REQUEST, -EPROTO, "this address speaks HTTPS, not HTTP");
                return err_hint(err, "use https:// instead of http://");
        }
        char named[STATE_SECRET_SIZE];
        const char *secret = secret_of(request);
        json_t *key = NULL;
        if (!secret)
                secret = secret_of_websocket(request, named, sizeof named);
        int r = peer->local ? 0 : check_host(api, request, err);
        if (r == 0)
                r = check_origin(request, err);
        if (r == 0)
                r = check_site(request, open, err);
        if (r < 0)
                return -EACCES;
        if (secret) {
                if (state_key_find(api->core->state, secret, &key) < 0)
                        return err_say(err, CELLA_UNAUTHORIZED, -EACCES, "unknown key");
                caller_from_key(key, ret);
                json_decref(key);
                return 0;
        }
        /* Without keys, every client that reaches loopback is the owner.  This never holds for other
         * addresses. */
        if (!is_forwarded(request) &&
            (peer->local ? peer->uid == 0 || peer->uid == api->owner
                         : state_key_count(api->core->state) == 0 && auth_is_loopback(api->listen))) {
                caller_owner(ret);
                return 0;
        }
        if (open) {
                *ret = (struct caller){0};
                return 0;
        }
        if (peer->local)
                err_say(err, CELLA_UNAUTHORIZED, -EACCES, "uid %u may not use this socket without a key",
                        (unsigned)peer->uid);
        else
                err_say(err, CELLA_UNAUTHORIZED, -EACCES, "an API key is required");
        return err_hint(err,
                        "send the header Authorization: Bearer KEY, or set CELLA_KEY; 'cella key add NAME', "
                        "by the owner on the Unix socket, creates a key");
}

bool auth_may_stay(const struct core *core, const struct caller *caller, bool local)
{
        if (!caller->owner)
                return state_key_known(core->state, caller->key);
        return local || state_key_count(core->state) == 0;
}
