#include "sys/rights.h"

#include <errno.h>
#include <string.h>

#include "sys/file.h"
#include "sys/raw.h"

void sys_rights_put(struct msghdr *msg, union sys_rights *rights, const int *fds, unsigned n)
{
        if (n == 0)
                return;
        /* The padding of the header is copied to the kernel, too, so it is initialised. */
        memset(rights, 0, sizeof *rights);
        msg->msg_control = rights;
        msg->msg_controllen = CMSG_SPACE(sizeof(int) * n);
        struct cmsghdr *head = CMSG_FIRSTHDR(msg);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int) * n);
        memcpy(CMSG_DATA(head), fds, sizeof(int) * n);
}

long sys_rights_send_msg(int socket, const struct msghdr *msg, int flags)
{
        long n;
        do {
                n = sys_call3(SYS_sendmsg, socket, msg, MSG_NOSIGNAL | flags);
        } while (n == -EINTR);
        return n;
}

long sys_rights_send(int socket, const void *data, size_t len, const int *fds, unsigned n, int flags)
{
        union sys_rights rights;
        struct iovec part = {(void *)data, len};
        struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
        if (n > SYS_RIGHTS_MAX)
                return -EINVAL;
        sys_rights_put(&msg, &rights, fds, n);
        return sys_rights_send_msg(socket, &msg, flags);
}

bool sys_rights_take(struct msghdr *msg, int *fds, unsigned *n, unsigned max)
{
        bool all = true;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                const size_t came = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                for (size_t i = 0; i < came; i++) {
                        int fd;
                        memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
                        if (*n < max) {
                                fds[(*n)++] = fd;
                        } else {
                                sys_close(fd);
                                all = false;
                        }
                }
        }
        return all;
}
