/* cli/client/client.h -- requests to the daemon over its Unix socket or plain TCP, by libcurl.
 *
 * Each request has its own connection.  Closing it tells the daemon that the client no longer waits for the
 * answer, which cancels an execution.
 *
 * The calls block.  Every wait has a limit, unless the request says that its answer may take any time. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/auto.h"
#include "cella.h"
#include "cli/client/head.h"
#include "cli/client/url.h"

#define CLIENT_UNKNOWN HEAD_UNKNOWN

struct client; /* opaque */

struct client_request {
        const char *method;
        const struct url *url;
        const char *type;   /* of the body; NULL: application/json */
        const char *accept; /* NULL: application/json */
        const char *body;   /* NULL: none, or by client_write() */
        size_t body_len;
        bool writes;         /* the body comes by client_write() */
        uint64_t writes_len; /* so many bytes; CLIENT_UNKNOWN: chunked */
        const char *upgrade; /* a Sec-WebSocket-Key: asks for a WebSocket */
        bool patient;        /* the answer may take for ever to begin */
};

/* Finds out where the daemon is: socket (may be NULL), $CELLA_SOCKET, $CELLA_URL with $CELLA_KEY, or the
 * usual place.  Does not connect. */
int client_new(const char *socket, struct client **ret, struct cella_err *err);
struct client *client_free(struct client *client);
DEFINE_AUTO(struct client *, client_free)

/* Connects (what was under way before is dropped) and sends the head, and the body if it is there. */
int client_send(struct client *client, const struct client_request *request, struct cella_err *err);
/* More of the body.  -EPIPE: the daemon wants no more of it; client_answer() tells why. */
int client_write(struct client *client, const char *data, size_t len, struct cella_err *err);
/* Ends the body and reads the head of the answer.  A status of 400 or more becomes *err, in the words
 * of the daemon. */
int client_answer(struct client *client, struct head *ret, struct cella_err *err);
/* Some of the answer's body: how much, 0 at its end, -errno. */
ssize_t client_read(struct client *client, char *data, size_t size, struct cella_err *err);
/* All of it, NUL after it; more than max is -EFBIG.  The caller frees *ret. */
int client_read_all(struct client *client, size_t max, char **ret, size_t *ret_len, struct cella_err *err);

/* After 101: the socket, to wait for and to send on. */
int client_fd(const struct client *client);
/* As client_read(), but -EAGAIN without a message instead of waiting. */
ssize_t client_read_now(struct client *client, char *data, size_t size, struct cella_err *err);
