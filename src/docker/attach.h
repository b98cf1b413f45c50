/* docker/attach.h -- the way to init through the engine, for a container that lets no socket in.
 *
 * POST /containers/ID/attach makes a connection a stream to the container's standard input and output.  A
 * thread of ours moves what goes over it from and to a socket (wire/relay.h): who gets that talks to init as
 * always. */
#pragma once
#include "cella.h"

struct attach;

/* Asks for the stream of a container that was not started yet. */
int attach_new(const char *socket, const char *id, struct attach **ret, struct cella_err *err);
struct attach *attach_free(struct attach *attach);

/* Readable when there is something to hear. */
int attach_fd(const struct attach *attach);

/* 1 when init is there, 0 when it is not yet, -EPIPE when the stream has ended, or -errno. */
int attach_hear(struct attach *attach);

/* Whether it is this kernel that init runs in. */
bool attach_is_this_kernel(const struct attach *attach);

/* Starts the thread, whose it is from here on, on failure too.  Returns the socket. */
int attach_start(struct attach *attach, struct cella_err *err);
