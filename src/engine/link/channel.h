/* engine/link/channel.h -- the server's end of the socket to one sandbox's init, in its event loop.
 *
 * Sending never blocks: what a stopped or hostile init does not take waits here, within a bound.
 * What comes is hostile: whole frames of bounded size, handed to whoever owns the tag. */
#pragma once
#include "cella.h"
#include "engine/link/fd_poll.h"
#include "wire/init.h"
#include "wire/message.h"

#define CHANNEL_WAITING_MAX (64u * 1024 * 1024) /* bytes that wait to be sent; more is -ENOBUFS */

struct channel;

/* Descriptors that came are the callee's. */
typedef void (*channel_handler)(void *context, const struct message *message, const char *data);

/* The socket has closed, or talked nonsense: last call. */
typedef void (*channel_closed)(void *context);

/* Takes fd.  Frames with tag 0 (INIT_READY, INIT_FAILED) go to on_untagged_message. */
int channel_new(uv_loop_t *loop, int fd, channel_handler on_untagged_message, channel_closed closed,
                void *context, struct channel **ret, struct cella_err *err);
/* No callback comes after it. */
struct channel *channel_free(struct channel *channel);

/* A tag of its own; its frames go to the handler until channel_forget(). */
uint32_t channel_open_tag(struct channel *channel, channel_handler handler, void *context);
/* Its frames go to somebody else from now on. */
void channel_hand_over(struct channel *channel, uint32_t tag, channel_handler handler, void *context);
void channel_forget(struct channel *channel, uint32_t tag);

/* Copies the data; borrows the descriptors for the call. */
int channel_lend(struct channel *channel, enum init_request type, uint32_t tag, const int *fds,
                 unsigned n_fds, const void *data, size_t len, const void *more, size_t more_len);
/* The number of the last frame that was sent. */
uint64_t channel_sent(const struct channel *channel);
/* Whether this frame was the last one and the peer has closed its end without reading all of it. */
bool channel_unread(const struct channel *channel, uint64_t number);
/* The same as channel_lend(), but takes the descriptors, on failure too. */
int channel_send(struct channel *channel, enum init_request type, uint32_t tag, const int *fds,
                 unsigned n_fds, const void *data, size_t len, const void *more, size_t more_len);
