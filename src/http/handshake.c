#include "http/handshake.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "http/sha1.h"

#define KEY_LEN 24 /* 16 bytes in base64 */

/* Searches a header that is a list of tokens: "keep-alive, Upgrade". */
static bool has_token(const char *list, const char *token)
{
        size_t len = strlen(token);

        while (list != NULL && *list != '\0') {
                size_t n;

                list += strspn(list, " \t,");
                n = strcspn(list, " \t,");
                if (n == len && strncasecmp(list, token, len) == 0)
                        return true;
                list += n;
        }
        return false;
}

static bool is_key(const char *key)
{
        char bytes[18];

        return key != NULL && strlen(key) == KEY_LEN &&
               base64_decode(key, KEY_LEN, bytes, sizeof(bytes)) == 16;
}

int handshake_check(const struct http_request *request, const char **ret_why)
{
        const char *version = http_header(request, "Sec-WebSocket-Version");

        if (strcmp(http_method_name(request), "GET") != 0 ||
            !has_token(http_header(request, "Upgrade"), "websocket") ||
            !has_token(http_header(request, "Connection"), "upgrade")) {
                *ret_why = "this path speaks WebSocket only";
                return 426;
        }
        if (version == NULL || strcmp(version, "13") != 0) {
                *ret_why = "only version 13 of WebSocket is known here";
                return 426;
        }
        if (!is_key(http_header(request, "Sec-WebSocket-Key"))) {
                *ret_why = "Sec-WebSocket-Key is not 16 bytes in base64";
                return 400;
        }
        return 0;
}

void handshake_accept(const char *key, char ret[HANDSHAKE_ACCEPT_SIZE])
{
        char text[KEY_LEN + 36 + 1];
        uint8_t hash[SHA1_BYTES];

        snprintf(text, sizeof(text), "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
        sha1(text, strlen(text), hash);
        base64_encode((const char *)hash, sizeof(hash), ret);
        ret[BASE64_LEN(sizeof(hash))] = '\0';
}
