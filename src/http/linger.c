/* http/linger.c -- closes a connection whose client still sends.
 *
 * If a socket with unread bytes is closed, the kernel sends a reset, and the client may not be able to read
 * the answer.  Therefore the descriptor stays open for up to two seconds after MHD has closed its own, and
 * a limited number of received bytes is discarded. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/internal.h"

#define LINGER_MAX 64 /* concurrent; further ones are closed at once */
#define LINGER_BYTES (1024u * 1024)
#define LINGER_MS 2000

struct straggler {
        struct http_server *server;
        struct straggler *prev, *next;
        int fd;
        size_t bytes;
        uint64_t until;
        uv_poll_t poll;
};

static void linger_on_closed(uv_handle_t *handle)
{
        struct straggler *linger = handle->data;

        server_release(linger->server);
        free(linger);
}

static void linger_end(struct straggler *linger)
{
        struct http_server *server = linger->server;

        if (linger->prev != NULL)
                linger->prev->next = linger->next;
        else
                server->lingering = linger->next;
        if (linger->next != NULL)
                linger->next->prev = linger->prev;
        server->n_lingering--;
        uv_close((uv_handle_t *)&linger->poll, linger_on_closed);
        close(linger->fd);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
        static char nowhere[64 * 1024];
        struct straggler *linger = poll->data;
        ssize_t n = status < 0 ? 0 : recv(linger->fd, nowhere, sizeof(nowhere), MSG_DONTWAIT);

        (void)events;
        if (n > 0)
                linger->bytes += (size_t)n;
        if (n <= 0 || linger->bytes > LINGER_BYTES)
                linger_end(linger);
}

void linger_start(struct http_server *server, int fd)
{
        struct straggler *linger;

        if (server->ending || server->n_lingering == LINGER_MAX)
                return;
        linger = calloc(1, sizeof(*linger));
        if (linger == NULL)
                return;
        linger->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        if (linger->fd < 0 || uv_poll_init(server->options.loop, &linger->poll, linger->fd) < 0) {
                if (linger->fd >= 0)
                        close(linger->fd);
                free(linger);
                return;
        }
        server->handles++;
        server->n_lingering++;
        linger->server = server;
        linger->until = uv_now(server->options.loop) + LINGER_MS;
        linger->poll.data = linger;
        linger->next = server->lingering;
        if (linger->next != NULL)
                linger->next->prev = linger;
        server->lingering = linger;
        uv_poll_start(&linger->poll, UV_READABLE, on_readable);
}

void linger_sweep(struct http_server *server)
{
        uint64_t now = uv_now(server->options.loop);

        for (struct straggler *linger = server->lingering, *next; linger != NULL; linger = next) {
                next = linger->next;
                if (now >= linger->until)
                        linger_end(linger);
        }
}

void linger_end_all(struct http_server *server)
{
        while (server->lingering != NULL)
                linger_end(server->lingering);
}
