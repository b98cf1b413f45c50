/* cli/client/websocket.h -- the client's side of a WebSocket (RFC 6455): keys, frames, messages. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cella.h"

#define WEBSOCKET_KEY_SIZE 32
#define WEBSOCKET_HEAD_MAX 14      /* of a frame that we send */
#define WEBSOCKET_TEXT_MAX 65536u  /* of a text message; bytes are handed on as they come */
#define WEBSOCKET_CONTROL_MAX 125u /* by the standard */

enum websocket_opcode { WS_MORE = 0, WS_TEXT = 1, WS_BINARY = 2, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };

/* A fresh key for the request, and whether an answer is the one to it. */
int websocket_key(char ret[WEBSOCKET_KEY_SIZE]);
bool websocket_accepts(const char *key, const char *accept);

/* Writes the head of a frame and masks data in place.  Returns the length of the head. */
size_t websocket_frame(char head[WEBSOCKET_HEAD_MAX], enum websocket_opcode opcode, char *data, size_t len);

struct websocket {
        /* Bytes of a binary message, in pieces; or one whole text, ping or close (NUL after it).
         * Something negative ends the reading. */
        int (*on_message)(void *userdata, enum websocket_opcode opcode, char *data, size_t len,
                          struct cella_err *err);
        void *userdata;

        char head[WEBSOCKET_HEAD_MAX];
        size_t head_len, head_need; /* of the frame that comes; need 0: it is complete */
        uint64_t left;              /* of its payload */
        bool fin;
        enum websocket_opcode frame;   /* of the frame */
        enum websocket_opcode message; /* that is not finished; WS_MORE: none */
        size_t text_len, control_len;
        char text[WEBSOCKET_TEXT_MAX + 1], control[WEBSOCKET_CONTROL_MAX + 1];
};

void websocket_init(struct websocket *ws,
                    int (*on_message)(void *, enum websocket_opcode, char *, size_t, struct cella_err *),
                    void *userdata);
/* 0, what on_message returned, or -EPROTO. */
int websocket_feed(struct websocket *ws, char *bytes, size_t len, struct cella_err *err);
