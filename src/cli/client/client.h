/* cli/client/client.h -- a small HTTP/1.1 client for the daemon, over its Unix socket or plain TCP.
 *
 * One connection a request: they are cheap here, and one that is closed tells the daemon that nobody
 * waits for the answer any more, which cancels an execution.
 *
 * What comes back is foreign: the head of an answer has a maximum, lengths are checked, and a body
 * is handed on in the caller's portions.  Every wait has an end, unless the request says that
 * its answer takes as long as it takes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/auto.h"
#include "cella.h"
#include "cli/client/url.h"

#define CLIENT_SOCKET "/run/cella/cella.sock"
#define CLIENT_UNKNOWN UINT64_MAX

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

struct client_answer {
        int status;
        char type[64];   /* without its parameters; "" if none */
        char accept[64]; /* Sec-WebSocket-Accept */
        uint64_t length; /* CLIENT_UNKNOWN: not said */
        bool chunked;
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
int client_answer(struct client *client, struct client_answer *ret, struct cella_err *err);
/* Some of the answer's body: how much, 0 at its end, -errno. */
ssize_t client_read(struct client *client, char *data, size_t size, struct cella_err *err);
/* All of it, NUL after it; more than max is -EFBIG.  The caller frees *ret. */
int client_read_all(struct client *client, size_t max, char **ret, size_t *ret_len, struct cella_err *err);

/* After 101: the connection itself, and what came on it already. */
int client_fd(const struct client *client);
size_t client_take_rest(struct client *client, char *data, size_t size);
