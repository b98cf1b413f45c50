/* sys/socket.h -- sockets, splice and epoll: one thin wrapper per system call.  Each returns a value or
 * -errno.  For non-blocking sockets: interrupted calls are not restarted. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "sys/raw.h"

static inline int sys_socket(int family, int type)
{
        return (int)sys_call3(SYS_socket, family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static inline int sys_connect(int fd, const void *address, size_t size)
{
        return (int)sys_call3(SYS_connect, fd, address, size);
}

static inline int sys_accept(int fd)
{
        return (int)sys_call4(SYS_accept4, fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static inline int sys_getsockname(int fd, void *ret, socklen_t *size)
{
        return (int)sys_call3(SYS_getsockname, fd, ret, size);
}

static inline int sys_getsockopt(int fd, int level, int name, void *ret, socklen_t *size)
{
        return (int)sys_call5(SYS_getsockopt, fd, level, name, ret, size);
}

/* Reads an option of type int. */
static inline int sys_get_option(int fd, int level, int name, int *ret)
{
        socklen_t size = sizeof *ret;
        return sys_getsockopt(fd, level, name, ret, &size);
}

static inline int sys_setsockopt(int fd, int level, int name, const void *value, size_t size)
{
        return (int)sys_call5(SYS_setsockopt, fd, level, name, value, size);
}

static inline int sys_set_option(int fd, int level, int name, int value)
{
        return sys_setsockopt(fd, level, name, &value, sizeof value);
}

static inline int sys_shutdown(int fd, int how)
{
        return (int)sys_call2(SYS_shutdown, fd, how);
}

static inline long sys_recv(int fd, void *data, size_t size, int flags)
{
        return sys_call6(SYS_recvfrom, fd, (long)data, (long)size, flags | MSG_DONTWAIT, 0, 0);
}

static inline long sys_send(int fd, const void *data, size_t size, int flags)
{
        return sys_call6(SYS_sendto, fd, (long)data, (long)size, flags | MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
}

static inline long sys_recvmsg(int fd, struct msghdr *message, int flags)
{
        return sys_call3(SYS_recvmsg, fd, message, flags | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
}

static inline long sys_sendmsg(int fd, const struct msghdr *message, int flags)
{
        return sys_call3(SYS_sendmsg, fd, message, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
}

static inline long sys_splice(int from, int to, size_t size, unsigned flags)
{
        return sys_call6(SYS_splice, from, 0, to, 0, (long)size, (long)flags);
}

static inline int sys_epoll_create(void)
{
        return (int)sys_call1(SYS_epoll_create1, EPOLL_CLOEXEC);
}

static inline int sys_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event)
{
        return (int)sys_call4(SYS_epoll_ctl, epoll, operation, fd, event);
}

static inline int sys_epoll_wait(int epoll, struct epoll_event *ret, int max, int timeout_ms)
{
        return (int)sys_call6(SYS_epoll_pwait, epoll, (long)ret, max, timeout_ms, 0, 8);
}
