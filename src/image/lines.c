#include "image/lines.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "sys/file.h"
#include "sys/rights.h"

void lines_init(struct lines *l, int fd)
{
        l->fd = fd;
        l->len = l->used = l->n_fds = 0;
}

void lines_done(struct lines *l)
{
        int fd;
        while ((fd = lines_take_fd(l)) >= 0)
                sys_close(fd);
}

int lines_take_fd(struct lines *l)
{
        if (l->n_fds == 0)
                return -1;
        int fd = l->fds[0];
        memmove(l->fds, l->fds + 1, --l->n_fds * sizeof *l->fds);
        return fd;
}

static ssize_t lines_receive(struct lines *l)
{
        union {
                char bytes[CMSG_SPACE(LINES_FDS_MAX * sizeof(int))];
                struct cmsghdr align;
        } control;
        struct iovec data = {l->text + l->len, sizeof l->text - l->len};
        struct msghdr m = {.msg_iov = &data,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
        ssize_t n;
        do
                n = recvmsg(l->fd, &m, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        /* Descriptors beyond the maximum are closed, so that no line gets that of another. */
        bool all = sys_rights_take(&m, l->fds, &l->n_fds, LINES_FDS_MAX);
        return all && !(m.msg_flags & MSG_CTRUNC) ? n : -E2BIG;
}

int lines_next(struct lines *l, char **ret, size_t *ret_len)
{
        memmove(l->text, l->text + l->used, l->len - l->used);
        l->len -= l->used;
        if (l->used > 0) /* it may contain a password */
                explicit_bzero(l->text + l->len, l->used);
        l->used = 0;
        for (;;) {
                const char *end = memchr(l->text, '\n', l->len);
                if (end) {
                        *ret = l->text;
                        *ret_len = (size_t)(end - l->text);
                        l->used = *ret_len + 1;
                        return 1;
                }
                if (l->len == sizeof l->text)
                        return -EMSGSIZE;
                ssize_t n = lines_receive(l);
                if (n <= 0)
                        return n == 0 && l->len > 0 ? -EPROTO : (int)n;
                l->len += (size_t)n;
        }
}
