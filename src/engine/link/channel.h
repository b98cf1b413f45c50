/* engine/link/channel.h -- the server's end of the socket to the init of one sandbox, in the event loop.
 *
 * Sending never blocks: frames that a stopped or hostile init does not read are queued up to a limit.
 * Received data is not trusted: only complete frames of limited size are passed to the owner of their tag. */
#pragma once
#include "cella.h"
#include "engine/link/fd_poll.h"
#include "wire/init.h"
#include "wire/message.h"

#define CHANNEL_WAITING_MAX (64u * 1024 * 1024) /* bytes that may be queued; more is -ENOBUFS */

struct channel;

/* Called for a frame.  The callee owns its descriptors. */
typedef void (*channel_handler)(void *context, const struct message *message, const char *data);

/* Called last, when the socket was closed or a frame was invalid. */
typedef void (*channel_closed)(void *context);

/* Takes fd, also on failure.  Frames with tag 0 (INIT_READY, INIT_FAILED) go to on_untagged_message. */
int channel_new(uv_loop_t *loop, int fd, channel_handler on_untagged_message, channel_closed closed,
                void *context, struct channel **ret, struct cella_err *err);
/* Closes the socket.  There are no callbacks afterwards. */
struct channel *channel_free(struct channel *channel);

/* Reserves a tag.  Its frames go to the handler until channel_forget().  Returns 0 if there is no memory. */
uint32_t channel_open_tag(struct channel *channel, channel_handler handler, void *context);
/* Replaces the handler of a tag. */
void channel_hand_over(struct channel *channel, uint32_t tag, channel_handler handler, void *context);
void channel_forget(struct channel *channel, uint32_t tag);

/* Sends a frame.  Copies the data; borrows the descriptors for the call.  Returns 0 or -errno. */
int channel_lend(struct channel *channel, enum init_request type, uint32_t tag, const int *fds,
                 unsigned n_fds, const void *data, size_t len, const void *more, size_t more_len);
/* Returns the number of the last frame that was sent. */
uint64_t channel_sent(const struct channel *channel);
/* Whether this frame was the last one and the peer has closed its end without reading all of it. */
bool channel_unread(const struct channel *channel, uint64_t number);
/* Like channel_lend(), but takes the descriptors, also on failure. */
int channel_send(struct channel *channel, enum init_request type, uint32_t tag, const int *fds,
                 unsigned n_fds, const void *data, size_t len, const void *more, size_t more_len);
