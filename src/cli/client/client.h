/* cli/client/client.h -- sends requests to the daemon over its Unix socket or plain TCP, with libcurl.
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
        const char *body;   /* NULL: none, or sent with client_write() */
        size_t body_len;
        bool writes;         /* the body is sent with client_write() */
        uint64_t writes_len; /* its length; CLIENT_UNKNOWN: chunked */
        const char *upgrade; /* a Sec-WebSocket-Key: asks for a WebSocket */
        bool patient;        /* no time limit for the beginning of the answer */
};

/* Determines the address of the daemon (see address.h).  Does not connect. */
int client_new(const char *socket, struct client **ret, struct cella_err *err);
struct client *client_free(struct client *client);
DEFINE_AUTO(struct client *, client_free)

/* Connects and sends the head and, if request->body is set, the body.  Drops a request in progress. */
int client_send(struct client *client, const struct client_request *request, struct cella_err *err);
/* Sends more of the body.  -EPIPE: the daemon does not want more; client_answer() returns the reason. */
int client_write(struct client *client, const char *data, size_t len, struct cella_err *err);
/* Ends the body and reads the head of the answer.  If the status is 400 or more, *err is the error of
 * the daemon. */
int client_answer(struct client *client, struct head *ret, struct cella_err *err);
/* Reads a part of the body of the answer.  Returns its length, 0 at the end, or -errno. */
ssize_t client_read(struct client *client, char *data, size_t size, struct cella_err *err);
/* Reads the whole body and adds a NUL; -EFBIG if it is longer than max.  The caller frees *ret. */
int client_read_all(struct client *client, size_t max, char **ret, size_t *ret_len, struct cella_err *err);

/* After status 101: the socket, for poll() and send(). */
int client_fd(const struct client *client);
/* Like client_read(), but returns -EAGAIN without a message instead of waiting. */
ssize_t client_read_now(struct client *client, char *data, size_t size, struct cella_err *err);
