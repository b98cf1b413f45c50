/* front/web/serve.c -- serves the files of the web page.
 *
 * The page shows output of untrusted code, so its headers permit as little as possible: scripts and styles
 * only from this server and none inline, no markup created from strings (Trusted Types; the only policy
 * parses tables into a document that is not shown), connections only to this server, no embedding in frames,
 * and no frames except sandboxed ones. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "front/web/assets.h"
#include "front/web/web.h"

static const char policy[] =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types cella-inert";

static const struct web_asset *web_find(const char *name)
{
        for (size_t i = 0; i < web_assets_len; i++)
                if (!strcmp(web_assets[i].name, name))
                        return &web_assets[i];
        return NULL;
}

/* Returns whether gzip is in "gzip, br;q=0.8", and not with q=0. */
static bool takes_gzip(const char *accept)
{
        for (const char *at = accept; at && *at;) {
                at += strspn(at, " \t,");
                size_t len = strcspn(at, ",");
                const char *quality = memchr(at, ';', len);
                size_t name = quality ? (size_t)(quality - at) : len;
                while (name > 0 && at[name - 1] == ' ')
                        name--;
                if (name == 4 && !strncasecmp(at, "gzip", 4)) {
                        char value[8] = "";
                        return !quality || sscanf(quality, "; q=%7[0-9.]", value) != 1 ||
                               strpbrk(value, "123456789");
                }
                at += len;
        }
        return false;
}

static void put_headers(struct http_request *request, const struct web_asset *asset)
{
        http_add_header(request, "Content-Security-Policy", policy);
        http_add_header(request, "X-Frame-Options", "DENY");
        http_add_header(request, "Referrer-Policy", "no-referrer");
        http_add_header(request, "Cross-Origin-Opener-Policy", "same-origin");
        http_add_header(request, "Permissions-Policy",
                        "camera=(), microphone=(), geolocation=(), payment=(), usb=()");
        /* Another version of the program has other files with the same names: browsers revalidate each time,
         * a 304 is short. */
        http_add_header(request, "Cache-Control", "no-cache");
        http_add_header(request, "ETag", asset->etag);
        http_add_header(request, "Vary", "Accept-Encoding");
}

static void web_answer(struct call *call, const struct web_asset *asset)
{
        const char *known = http_header(call->request, "If-None-Match");
        put_headers(call->request, asset);
        if (known && strstr(known, asset->etag)) {
                http_reply(call->request, 304, NULL, NULL, 0);
        } else if (takes_gzip(http_header(call->request, "Accept-Encoding"))) {
                http_add_header(call->request, "Content-Encoding", "gzip");
                http_reply(call->request, 200, asset->type, asset->packed, *asset->packed_len);
        } else {
                http_reply(call->request, 200, asset->type, asset->plain, *asset->plain_len);
        }
}

void web_index(struct call *call, json_t *body)
{
        (void)body;
        web_answer(call, web_find("index.html"));
}

void web_asset(struct call *call, json_t *body)
{
        const char *name = http_param(call->request, 0);
        const struct web_asset *asset = web_find(name);
        struct cella_err err = {0};
        (void)body;
        if (asset) {
                web_answer(call, asset);
                return;
        }
        err_say(&err, CELLA_NOT_FOUND, -ENOENT, "no file '%.60s' in the web page", name);
        api_reply_err(call, &err);
}
