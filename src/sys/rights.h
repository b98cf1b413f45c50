/* sys/rights.h -- sends and receives descriptors over a Unix socket.  Functions return -errno and never
 * raise SIGPIPE. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define SYS_RIGHTS_MAX 10 /* descriptors per message */

union sys_rights {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int) * SYS_RIGHTS_MAX)];
};

/* Adds n descriptors (0 to SYS_RIGHTS_MAX) to msg.  msg refers to *rights afterwards. */
void sys_rights_put(struct msghdr *msg, union sys_rights *rights, const int *fds, unsigned n);

/* sendmsg() that is restarted after a signal.  Returns the number of bytes sent or -errno.  The descriptors
 * are sent with the first byte and stay open in the caller.  flags: MSG_DONTWAIT or 0. */
long sys_rights_send_msg(int socket, const struct msghdr *msg, int flags);
long sys_rights_send(int socket, const void *data, size_t len, const int *fds, unsigned n, int flags);

/* Appends the descriptors received with msg to the *n in fds, up to max; the caller owns them.  Returns
 * false if there were more, which are closed. */
bool sys_rights_take(struct msghdr *msg, int *fds, unsigned *n, unsigned max);
