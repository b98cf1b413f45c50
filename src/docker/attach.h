/* docker/attach.h -- the connection to init through the engine, for a container that cannot use a socket of
 * the host.
 *
 * POST /containers/ID/attach turns a connection into a stream to the container's standard input and output.
 * A thread moves the data between the stream and a socket (wire/relay.h).  The owner of that socket talks to
 * init as usual. */
#pragma once
#include "cella.h"

struct attach;

/* Requests the stream of a container that was not started yet. */
int attach_new(const char *socket, const char *id, struct attach **ret, struct cella_err *err);
struct attach *attach_free(struct attach *attach);

/* Returns the descriptor to poll for reading. */
int attach_fd(const struct attach *attach);

/* Returns 1 when init has connected, 0 if not yet, -EPIPE when the stream has ended, or -errno. */
int attach_receive(struct attach *attach);

/* Whether init runs in this kernel. */
bool attach_is_this_kernel(const struct attach *attach);

/* Starts the thread, which takes the object, also on failure.  Returns the socket or -errno. */
int attach_start(struct attach *attach, struct cella_err *err);
