/* sys/rights.h -- descriptors that travel with bytes over a Unix socket.  Answers -errno, never a signal. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define SYS_RIGHTS_MAX 10 /* descriptors at once */

union sys_rights {
        struct cmsghdr align;
        char space[CMSG_SPACE(sizeof(int) * SYS_RIGHTS_MAX)];
};

/* Puts n descriptors (at most SYS_RIGHTS_MAX; none is fine) into msg, which points into rights then. */
void sys_rights_put(struct msghdr *msg, union sys_rights *rights, const int *fds, unsigned n);

/* sendmsg() until no signal comes between.  How many bytes went, or -errno; the descriptors stay the
 * caller's, and go with the first byte.  flags: MSG_DONTWAIT or 0. */
long sys_rights_send_msg(int socket, const struct msghdr *msg, int flags);
long sys_rights_send(int socket, const void *data, size_t len, const int *fds, unsigned n, int flags);

/* Puts the descriptors that came with msg behind the *n that fds has, up to max, which are the caller's then.
 * False: there were more, which are closed. */
bool sys_rights_take(struct msghdr *msg, int *fds, unsigned *n, unsigned max);
