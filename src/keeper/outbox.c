#include "keeper/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sys/file.h"
#include "sys/raw.h"
#include "wire/keeper.h"

#define PACKETS_MAX (4u * KEEPER_SANDBOXES_MAX)

struct outbox_packet {
        struct outbox_packet *next;
        int fd;
        size_t len;
        char data[];
};

/* Closes fd once it is on its way. */
static int send_one(int socket, const void *data, size_t len, int fd)
{
        char control[CMSG_SPACE(sizeof fd)] = {0};
        struct iovec part = {(void *)data, len};
        struct msghdr msg = {.msg_iov = &part, .msg_iovlen = 1};
        if (fd >= 0) {
                msg.msg_control = control;
                msg.msg_controllen = sizeof control;
                struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof fd);
                memcpy(CMSG_DATA(c), &fd, sizeof fd);
        }
        long n;
        do {
                n = sys_call3(SYS_sendmsg, socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        } while (n == -EINTR);
        if (n < 0)
                return (int)n;
        sys_close(fd);
        return 0;
}

int outbox_send(struct outbox *o, const void *data, size_t len, int fd)
{
        int r = o->first ? -EAGAIN : send_one(o->socket, data, len, fd);
        if (r == 0)
                return 0;
        struct outbox_packet *p = r == -EAGAIN && o->n < PACKETS_MAX ? malloc(sizeof *p + len) : NULL;
        if (!p) {
                sys_close(fd);
                return r == -EAGAIN ? -ENOBUFS : r;
        }
        *p = (struct outbox_packet){.fd = fd, .len = len};
        memcpy(p->data, data, len);
        if (o->last)
                o->last->next = p;
        else
                o->first = p;
        o->last = p;
        o->n++;
        return 0;
}

static void drop_first(struct outbox *o)
{
        struct outbox_packet *p = o->first;
        o->first = p->next;
        if (!o->first)
                o->last = NULL;
        o->n--;
        free(p);
}

int outbox_flush(struct outbox *o)
{
        while (o->first) {
                int r = send_one(o->socket, o->first->data, o->first->len, o->first->fd);
                if (r == -EAGAIN)
                        return 0;
                if (r < 0)
                        return r;
                drop_first(o);
        }
        return 0;
}

void outbox_done(struct outbox *o)
{
        while (o->first) {
                sys_close(o->first->fd);
                drop_first(o);
        }
}
