/* front/auth.c -- who sent a request, and whether it is allowed at all.
 *
 * Any web page can make a browser on this machine send requests to loopback, and with DNS rebinding it can
 * read the answers.  The browser always sends the name it used (Host) and the page it came from (Origin, or
 * Sec-Fetch-Site for images and the like).  All of them are checked before anything else. */
#include "front/auth.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"

static int refuse_name(const char *what, const char *value, struct cella_err *err)
{
        err_say(err, CELLA_ACCESS_DENIED, -EACCES, "access denied: %s '%.80s'", what, value);
        return err_hint(err, "use the address that the daemon listens on: a web page may have sent you here");
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
        if (is_loopback_name(host) || host_is(host, own) || !auth_is_loopback(api->listen))
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
        if (peer->local ? peer->uid == 0 || peer->uid == api->owner
                        : state_key_count(api->core->state) == 0 && auth_is_loopback(api->listen)) {
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
        return err_hint(err, "send the header Authorization: Bearer KEY; 'cella key add NAME' creates a key");
}

bool auth_may_stay(const struct core *core, const struct caller *caller, bool local)
{
        if (!caller->owner)
                return state_key_known(core->state, caller->key);
        return local || state_key_count(core->state) == 0;
}
