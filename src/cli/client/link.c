/* cli/client/link.c -- see client_link.h.  The socket does not block; every wait is in
 * wait_for(). */
#include "cli/client/link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "sys/file.h"

#define CONNECT_MS 5000

void client_link_close(struct client_link *c)
{
        sys_close(c->fd);
        c->fd = -1;
}

int client_link_broken(const struct client_link *c, struct cella_err *err, const char *what)
{
        return err_say(err, CELLA_INTERNAL, -EPROTO, "the answer of %s is broken: %s", c->to.where, what);
}

/* Returns the events that came, or -ETIMEDOUT.  until: of clock_us(). */
static int wait_for(const struct client_link *c, short events, int64_t until, struct cella_err *err)
{
        for (;;) {
                int64_t left_us = until == CLIENT_FOREVER ? -1 : until - clock_us();
                if (until != CLIENT_FOREVER && left_us < 0)
                        left_us = 0;
                struct pollfd fd = {c->fd, events, 0};
                int n = poll(&fd, 1, left_us < 0 ? -1 : (int)((left_us + 999) / 1000));
                if (n > 0)
                        return fd.revents;
                if (n == 0) {
                        err_say(err, CELLA_ENGINE_UNAVAILABLE, -ETIMEDOUT, "%s does not answer", c->to.where);
                        return err_hint(err, "CELLA_TIMEOUT sets how long to wait for it");
                }
                if (errno != EINTR)
                        return err_set(err, CELLA_INTERNAL, -errno, "poll");
        }
}

int64_t client_link_patience(const struct client_link *c)
{
        return clock_us() + c->idle_us;
}

static int no_daemon(const struct client_link *c, int num, struct cella_err *err)
{
        if (num == -ENOENT || num == -ECONNREFUSED || num == -ENOTSOCK) {
                err_say(err, CELLA_ENGINE_UNAVAILABLE, num, "no daemon at %s", c->to.where);
                return err_hint(err, "cella serve starts one");
        }
        err_set(err, num == -EACCES ? CELLA_ACCESS_DENIED : CELLA_ENGINE_UNAVAILABLE, num,
                "cannot reach the daemon at %s", c->to.where);
        return num == -EACCES ? err_hint(err, "root and the user who started it may; CELLA_URL and CELLA_KEY "
                                              "are for others")
                              : num;
}

int client_link_open(struct client_link *c, struct cella_err *err)
{
        int one = 1, num = 0;
        socklen_t size = sizeof num;
        int64_t until = clock_us() + CONNECT_MS * 1000;
        client_link_close(c);
        c->at = c->fill = 0;
        c->answer_early = false;
        c->fd = socket(c->to.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (c->fd < 0)
                return err_set(err, CELLA_INTERNAL, -errno, "socket");
        if (c->to.address.ss_family != AF_UNIX) {
                setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                setsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
        }
        /* A Unix socket whose queue is full says EAGAIN and has nothing to poll for. */
        while (connect(c->fd, (struct sockaddr *)&c->to.address, c->to.len) < 0) {
                if (errno == EINPROGRESS)
                        break;
                if ((errno != EAGAIN && errno != EINTR) || clock_us() > until)
                        return no_daemon(c, -errno, err);
                poll(NULL, 0, 10);
        }
        int r = wait_for(c, POLLOUT, until, err);
        if (r < 0)
                return r;
        if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &num, &size) == 0 && num != 0)
                return no_daemon(c, -num, err);
        return 0;
}

int client_link_send(struct client_link *c, const char *data, size_t len, struct cella_err *err)
{
        while (len > 0) {
                int events = wait_for(c, POLLOUT | POLLIN, client_link_patience(c), err);
                if (events < 0)
                        return events;
                /* An answer before the end of the body is a refusal: nobody reads the rest. */
                if (events & POLLIN) {
                        c->answer_early = true;
                        return -EPIPE;
                }
                ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL);
                if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) {
                        c->answer_early = true; /* there may be one nevertheless */
                        return err_set(err, CELLA_ENGINE_UNAVAILABLE, -EPIPE, "%s hung up", c->to.where);
                }
                if (n < 0 && errno != EAGAIN && errno != EINTR)
                        return err_set(err, CELLA_ENGINE_UNAVAILABLE, -errno, "cannot send to %s",
                                       c->to.where);
                if (n > 0) {
                        data += n;
                        len -= (size_t)n;
                }
        }
        return 0;
}

ssize_t client_link_receive(struct client_link *c, char *data, size_t size, int64_t until,
                            struct cella_err *err)
{
        for (;;) {
                ssize_t n = recv(c->fd, data, size, 0);
                if (n >= 0)
                        return n;
                if (errno == ECONNRESET)
                        return 0;
                if (errno != EAGAIN && errno != EINTR)
                        return err_set(err, CELLA_ENGINE_UNAVAILABLE, -errno, "cannot read from %s",
                                       c->to.where);
                int r = wait_for(c, POLLIN, until, err);
                if (r < 0)
                        return r;
        }
}

size_t client_link_take(struct client_link *c, char *data, size_t size)
{
        size_t n = c->fill - c->at < size ? c->fill - c->at : size;
        memcpy(data, c->buffer + c->at, n);
        c->at += n;
        return n;
}
