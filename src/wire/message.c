#include "wire/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/auto.h"
#include "sys/file.h"
#include "sys/raw.h"
#include "sys/rights.h"

_Static_assert(MESSAGE_FDS_MAX <= SYS_RIGHTS_MAX, "a message's descriptors travel at once");

struct header {
        uint32_t type;
        uint32_t tag;
        uint32_t len;
};

int message_pair(int ret[2])
{
        return (int)sys_call4(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret);
}

/* Sends everything, also after partial writes.  Descriptors are sent with the first byte only. */
static int send_rest(int socket, struct msghdr *msg)
{
        while (msg->msg_iovlen > 0) {
                long n = sys_rights_send_msg(socket, msg, 0);
                if (n < 0)
                        return (int)n;
                msg->msg_control = NULL;
                msg->msg_controllen = 0;
                while (msg->msg_iovlen > 0 && (size_t)n >= msg->msg_iov->iov_len) {
                        n -= (long)msg->msg_iov->iov_len;
                        msg->msg_iov++;
                        msg->msg_iovlen--;
                }
                if (msg->msg_iovlen > 0) {
                        msg->msg_iov->iov_base = (char *)msg->msg_iov->iov_base + n;
                        msg->msg_iov->iov_len -= (size_t)n;
                }
        }
        return 0;
}

int message_send(int socket, uint32_t type, uint32_t tag, const int *fds, unsigned n_fds, const void *data,
                 size_t len, const void *more, size_t more_len)
{
        struct header header = {.type = type, .tag = tag, .len = (uint32_t)(len + more_len)};
        struct iovec parts[] = {
                {&header, sizeof header},
                {(void *)data, len},
                {(void *)more, more_len},
        };
        union sys_rights rights;
        struct msghdr msg = {.msg_iov = parts, .msg_iovlen = ARRAY_LEN(parts)};

        if (n_fds > MESSAGE_FDS_MAX || len > UINT32_MAX / 2 || more_len > UINT32_MAX / 2)
                return -EINVAL;
        sys_rights_put(&msg, &rights, fds, n_fds);
        return send_rest(socket, &msg);
}

/* Calls recvmsg() once: bytes into data, descriptors into *ret.  Returns the number of bytes or -errno. */
static long receive_some(int socket, char *data, size_t len, int flags, struct message *ret)
{
        char control[CMSG_SPACE(sizeof(int) * MESSAGE_FDS_MAX)];
        struct iovec part = {data, len};
        struct msghdr msg = {
                .msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = control,
                .msg_controllen = sizeof control,
        };
        long n;
        do {
                n = sys_call3(SYS_recvmsg, socket, &msg, MSG_CMSG_CLOEXEC | flags);
        } while (n == -EINTR);
        if (n < 0)
                return n;
        sys_rights_take(&msg, ret->fds, &ret->n_fds, MESSAGE_FDS_MAX);
        return msg.msg_flags & MSG_CTRUNC ? -EPROTO : n;
}

/* Reads exactly len bytes and the descriptors sent with them.  Returns 1, 0 at a clean end, or -errno. */
static int receive_exactly(int socket, char *data, size_t len, struct message *ret)
{
        size_t got = 0;
        while (got < len) {
                long n = receive_some(socket, data + got, len - got, 0, ret);
                if (n < 0)
                        return (int)n;
                if (n == 0)
                        return got == 0 ? 0 : -EPROTO;
                got += (size_t)n;
        }
        return 1;
}

static int message_receive_data(int socket, struct message *ret, void *data, size_t size)
{
        struct header header;
        int r = receive_exactly(socket, (char *)&header, sizeof header, ret);
        if (r <= 0)
                return r;
        if (header.len > size)
                return -EPROTO;
        ret->type = header.type;
        ret->tag = header.tag;
        ret->len = header.len;
        if (header.len == 0)
                return 1;
        r = receive_exactly(socket, data, header.len, ret);
        return r == 0 ? -EPROTO : r;
}

void message_close_fds(struct message *message)
{
        while (message->n_fds > 0)
                sys_close(message->fds[--message->n_fds]);
}

int message_receive(int socket, struct message *ret, void *data, size_t size)
{
        struct message m = {0};
        int r = message_receive_data(socket, &m, data, size);
        if (r <= 0) {
                message_close_fds(&m);
                return r;
        }
        *ret = m;
        return r;
}

void message_reader_init(struct message_reader *reader, void *data, size_t size)
{
        *reader = (struct message_reader){.data = data, .size = size};
}

void message_reader_done(struct message_reader *reader)
{
        message_close_fds(&reader->frame);
}

int message_read(struct message_reader *r, int socket, struct message *ret)
{
        for (;;) {
                char *to = (char *)r->header + r->got;
                size_t want = sizeof r->header - r->got;
                if (r->got >= sizeof r->header) {
                        size_t have = r->got - sizeof r->header;
                        to = r->data + have;
                        want = r->frame.len - have;
                }
                if (want > 0) {
                        long n = receive_some(socket, to, want, MSG_DONTWAIT, &r->frame);
                        if (n <= 0)
                                return n < 0 ? (int)n : r->got == 0 ? 0 : -EPROTO;
                        r->got += (size_t)n;
                }
                if (r->got == sizeof r->header) {
                        r->frame.type = r->header[0];
                        r->frame.tag = r->header[1];
                        r->frame.len = r->header[2];
                        if (r->frame.len > r->size)
                                return -EPROTO;
                }
                if (r->got >= sizeof r->header && r->got == sizeof r->header + r->frame.len) {
                        *ret = r->frame;
                        r->frame = (struct message){0};
                        r->got = 0;
                        return 1;
                }
        }
}

/* ---- reading ahead ---- */

void message_ahead_init(struct message_ahead *reader, void *data, size_t size)
{
        *reader = (struct message_ahead){.data = data, .size = size};
}

void message_ahead_done(struct message_ahead *reader)
{
        message_close_fds(&reader->first);
        message_close_fds(&reader->last);
}

/* Returns the length of the frame at that offset including its header; 0: the header is incomplete. */
static size_t frame_bytes(const struct message_ahead *r, size_t at, struct header *ret)
{
        if (r->end - at < sizeof *ret)
                return 0;
        memcpy(ret, r->data + at, sizeof *ret);
        return sizeof *ret + (size_t)ret->len;
}

/* Returns the offset of the last frame that has at least partly arrived. */
static size_t last_begin(const struct message_ahead *r)
{
        struct header header;
        size_t at = r->at, n;
        while ((n = frame_bytes(r, at, &header)) > 0 && n < r->end - at)
                at += n;
        return at;
}

int message_ahead_next(struct message_ahead *r, struct message *ret, const char **ret_data)
{
        struct header header;
        const size_t n = frame_bytes(r, r->at, &header);
        if (n > r->size)
                return -EPROTO;
        if (n == 0 || n > r->end - r->at)
                return 0;
        *ret = r->first;
        ret->type = header.type;
        ret->tag = header.tag;
        ret->len = header.len;
        *ret_data = r->data + r->at + sizeof header;
        r->first = (struct message){0};
        r->at += n;
        if (r->last.n_fds > 0 && r->last_at == r->at) {
                r->first = r->last;
                r->last = (struct message){0};
        }
        return 1;
}

/* Assigns the received descriptors to the frame that started with this read, or to the frame that was
 * continued by it. */
static int sort_in(struct message_ahead *r, struct message *came)
{
        const size_t begin = last_begin(r);
        struct message *to = begin == r->at ? &r->first : &r->last;
        if (came->n_fds > MESSAGE_FDS_MAX - to->n_fds) {
                message_close_fds(came);
                return -EPROTO;
        }
        for (unsigned i = 0; i < came->n_fds; i++)
                to->fds[to->n_fds++] = came->fds[i];
        r->last_at = begin;
        return 1;
}

int message_ahead_read(struct message_ahead *r, int socket)
{
        struct message came = {0};
        if (r->at > 0) {
                memmove(r->data, r->data + r->at, r->end - r->at);
                r->end -= r->at;
                r->at = 0;
        }
        const size_t room = r->size - r->end;
        const long n = receive_some(socket, r->data + r->end, room, MSG_DONTWAIT, &came);
        if (n <= 0) {
                message_close_fds(&came);
                return n < 0 ? (int)n : r->end == 0 ? 0 : -EPROTO;
        }
        r->end += (size_t)n;
        r->drained = (size_t)n < room && came.n_fds == 0;
        return came.n_fds > 0 ? sort_in(r, &came) : 1;
}

bool message_ahead_drained(const struct message_ahead *r)
{
        return r->drained;
}
