#include "keeper/process/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "sys/file.h"
#include "sys/rights.h"
#include "wire/keeper.h"

#define PACKETS_MAX (4u * KEEPER_SANDBOXES_MAX)

struct outbox_packet {
        struct outbox_packet *next;
        int fds[SYS_RIGHTS_MAX]; /* owned */
        unsigned n_fds;
        size_t len;
        char data[];
};

static int send_one(int socket, const void *data, size_t len, const int *fds, unsigned n)
{
        long r = sys_rights_send(socket, data, len, fds, n, MSG_DONTWAIT);
        return r < 0 ? (int)r : 0;
}

static void close_all(const int *fds, unsigned n)
{
        while (n > 0)
                sys_close(fds[--n]);
}

/* Copies a packet.  Takes fds[0] and duplicates the others.  If a descriptor cannot be duplicated, it and the
 * rest are left out. */
static struct outbox_packet *wrap(const void *data, size_t len, const int *fds, unsigned n)
{
        struct outbox_packet *p = malloc(sizeof *p + len);
        if (!p)
                return NULL;
        *p = (struct outbox_packet){.len = len};
        memcpy(p->data, data, len);
        for (; p->n_fds < n; p->n_fds++) {
                p->fds[p->n_fds] = p->n_fds == 0 ? fds[0] : sys_dup_above(fds[p->n_fds], 3);
                if (p->fds[p->n_fds] < 0)
                        break;
        }
        return p;
}

int outbox_send(struct outbox *o, const void *data, size_t len, const struct outbox_rights *rights)
{
        int fds[SYS_RIGHTS_MAX] = {rights->fd};
        unsigned n = rights->fd >= 0 ? 1 : 0;
        for (unsigned i = 0; n > 0 && i < rights->n_lent && n < SYS_RIGHTS_MAX; i++)
                fds[n++] = rights->lent[i];
        int r = o->first ? -EAGAIN : send_one(o->socket, data, len, fds, n);
        struct outbox_packet *p = r == -EAGAIN && o->n < PACKETS_MAX ? wrap(data, len, fds, n) : NULL;
        if (!p) {
                sys_close(rights->fd);
                return r == -EAGAIN ? -EOVERFLOW : r;
        }
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
        close_all(p->fds, p->n_fds);
        o->first = p->next;
        if (!o->first)
                o->last = NULL;
        o->n--;
        free(p);
}

int outbox_flush(struct outbox *o)
{
        while (o->first) {
                int r = send_one(o->socket, o->first->data, o->first->len, o->first->fds, o->first->n_fds);
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
        while (o->first)
                drop_first(o);
}
