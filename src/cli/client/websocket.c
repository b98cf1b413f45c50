#include "cli/client/websocket.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/base64.h"
#include "base/err.h"
#include "http/sha1.h"

int websocket_key(char ret[WEBSOCKET_KEY_SIZE])
{
        unsigned char random[16];
        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
                return -EIO;
        base64_encode((const char *)random, sizeof random, ret);
        ret[BASE64_LEN(sizeof random)] = '\0';
        return 0;
}

bool websocket_accepts(const char *key, const char *accept)
{
        char joined[96], expected[BASE64_LEN(SHA1_BYTES) + 1] = "";
        uint8_t hash[SHA1_BYTES];
        int len = snprintf(joined, sizeof joined, "%.40s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
        sha1(joined, (size_t)len, hash);
        base64_encode((const char *)hash, sizeof hash, expected);
        return !strcmp(expected, accept);
}

/* ---- sending ---- */

size_t websocket_frame(char head[WEBSOCKET_HEAD_MAX], enum websocket_opcode opcode, char *data, size_t len)
{
        unsigned char mask[4] = {0};
        size_t n = 0;
        /* The mask keeps us from being used against proxies on the way; a bad one harms nobody else. */
        if (getrandom(mask, sizeof mask, GRND_NONBLOCK) != (ssize_t)sizeof mask)
                mask[0] = 0x5a;
        head[n++] = (char)(0x80 | opcode);
        if (len < 126) {
                head[n++] = (char)(0x80 | len);
        } else {
                int bytes = len < 65536 ? 2 : 8;
                head[n++] = (char)(0x80 | (bytes == 2 ? 126 : 127));
                for (int i = bytes - 1; i >= 0; i--)
                        head[n++] = (char)((uint64_t)len >> (8 * i));
        }
        memcpy(head + n, mask, sizeof mask);
        for (size_t i = 0; i < len; i++)
                data[i] = (char)(data[i] ^ mask[i % 4]);
        return n + sizeof mask;
}

/* ---- receiving ---- */

static int wrong(struct cella_err *err, const char *what)
{
        return err_say(err, CELLA_INTERNAL, -EPROTO, "the terminal's connection is broken: %s", what);
}

void websocket_init(struct websocket *ws,
                    int (*on_message)(void *, enum websocket_opcode, char *, size_t, struct cella_err *),
                    void *userdata)
{
        memset(ws, 0, sizeof *ws);
        ws->on_message = on_message;
        ws->userdata = userdata;
        ws->head_need = 2;
}

/* head is complete: what comes? */
static int begin_frame(struct websocket *ws, struct cella_err *err)
{
        const unsigned char *h = (const unsigned char *)ws->head;
        uint64_t len = h[1] & 0x7f;
        size_t more = len == 126 ? 2 : len == 127 ? 8 : 0;
        if (h[1] & 0x80)
                return wrong(err, "a masked frame");
        if (h[0] & 0x70)
                return wrong(err, "an unknown extension");
        if (ws->head_len < 2 + more) {
                ws->head_need = 2 + more;
                return 0;
        }
        for (size_t i = 0; i < more; i++)
                len = (i ? len << 8 : 0) | h[2 + i];
        if (len > INT64_MAX)
                return wrong(err, "a frame without end");
        ws->fin = h[0] & 0x80;
        ws->frame = (enum websocket_opcode)(h[0] & 15);
        ws->left = len;
        ws->head_need = 0;
        ws->control_len = 0;
        switch (ws->frame) {
        case WS_CLOSE:
        case WS_PING:
        case WS_PONG:
                return ws->fin && len <= WEBSOCKET_CONTROL_MAX
                               ? 0
                               : wrong(err, "a control frame that is too long");
        case WS_TEXT:
        case WS_BINARY:
                if (ws->message != WS_MORE)
                        return wrong(err, "a message inside another");
                ws->message = ws->frame;
                ws->text_len = 0;
                return 0;
        case WS_MORE:
                return ws->message != WS_MORE ? 0 : wrong(err, "the rest of no message");
        default:
                return wrong(err, "an unknown kind of frame");
        }
}

static int take_payload(struct websocket *ws, char *bytes, size_t n, struct cella_err *err)
{
        if (ws->frame >= WS_CLOSE) {
                memcpy(ws->control + ws->control_len, bytes, n);
                ws->control_len += n;
        } else if (ws->message == WS_TEXT) {
                if (n > WEBSOCKET_TEXT_MAX - ws->text_len)
                        return wrong(err, "a text that is too long");
                memcpy(ws->text + ws->text_len, bytes, n);
                ws->text_len += n;
        } else if (n > 0) {
                return ws->on_message(ws->userdata, WS_BINARY, bytes, n, err);
        }
        return 0;
}

static int end_frame(struct websocket *ws, struct cella_err *err)
{
        int r = 0;
        ws->head_len = 0;
        ws->head_need = 2;
        if (ws->frame >= WS_CLOSE) {
                ws->control[ws->control_len] = '\0';
                r = ws->on_message(ws->userdata, ws->frame, ws->control, ws->control_len, err);
        } else if (ws->fin) {
                enum websocket_opcode message = ws->message;
                ws->message = WS_MORE;
                ws->text[ws->text_len] = '\0';
                if (message == WS_TEXT)
                        r = ws->on_message(ws->userdata, WS_TEXT, ws->text, ws->text_len, err);
        }
        return r;
}

int websocket_feed(struct websocket *ws, char *bytes, size_t len, struct cella_err *err)
{
        int r = 0;
        while (len > 0 && r >= 0) {
                if (ws->head_need > 0) {
                        ws->head[ws->head_len++] = *bytes++;
                        len--;
                        if (ws->head_len == ws->head_need)
                                r = begin_frame(ws, err);
                } else {
                        size_t n = ws->left < len ? (size_t)ws->left : len;
                        r = take_payload(ws, bytes, n, err);
                        ws->left -= n;
                        bytes += n;
                        len -= n;
                }
                if (r >= 0 && ws->head_need == 0 && ws->left == 0)
                        r = end_frame(ws, err);
        }
        return r < 0 ? r : 0;
}
