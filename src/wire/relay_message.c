/* wire/relay_message.c -- the messages of a relay and the descriptors that are sent with them. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/auto.h"
#include "sys/file.h"
#include "sys/raw.h"
#include "sys/rights.h"
#include "wire/relay.h"

#define RECORD sizeof(struct relay_record)
#define LARGE (256u * 1024) /* larger data is released with madvise() after use */

/* ---- INIT_EXITED is held until the command's output is delivered ---- */

static bool is_quiet(const struct relay *r, uint32_t tag)
{
        for (unsigned i = 0; i < r->n_streams; i++) {
                const struct relay_stream *s = &r->streams[i];
                if (s->kind != RELAY_NONE && s->tag == tag &&
                    (r->inside ? s->wet : s->len > 0 && !s->stopped))
                        return false;
        }
        return true;
}

/* Inside, the pipes may contain unread output. */
static void moisten(struct relay *r, uint32_t tag)
{
        for (unsigned i = 0; i < r->n_streams && r->inside; i++)
                if (r->streams[i].kind != RELAY_NONE && r->streams[i].tag == tag && r->streams[i].reads)
                        r->streams[i].wet = true;
}

/* Returns true if the message was put aside. */
static bool relay_message_hold(struct relay *r, const struct relay_parcel *p)
{
        if (p->record.type != INIT_EXITED || p->record.len > sizeof r->held[0].data ||
            r->n_held == RELAY_HELD)
                return false;
        moisten(r, p->record.tag);
        if (is_quiet(r, p->record.tag))
                return false;
        r->held[r->n_held].type = p->record.type;
        r->held[r->n_held].tag = p->record.tag;
        r->held[r->n_held].len = p->record.len;
        memcpy(r->held[r->n_held++].data, p->data, p->record.len);
        return true;
}

/* Moves a held message that need not wait any more into the parcel. */
static bool relay_message_release(struct relay *r, struct relay_parcel *p)
{
        for (unsigned i = 0; i < r->n_held; i++) {
                if (!is_quiet(r, r->held[i].tag))
                        continue;
                memset(&p->record, 0, sizeof p->record);
                p->record.type = r->held[i].type;
                p->record.tag = r->held[i].tag;
                p->record.len = r->held[i].len;
                memcpy(p->data, r->held[i].data, p->record.len);
                memmove(&r->held[i], &r->held[i + 1], (--r->n_held - i) * sizeof r->held[0]);
                p->done = 0;
                p->full = true;
                return true;
        }
        return false;
}

static void give_back(const struct relay_parcel *p)
{
        if (p->record.len >= LARGE)
                sys_call3(SYS_madvise, ((uintptr_t)p->data + 4095) & ~(uintptr_t)4095,
                          (p->record.len - 4096) & ~4095u, 4 /* MADV_DONTNEED */);
}

/* ---- from the socket to the far side ---- */

/* Returns what the receiver can do with the descriptor; RELAY_NONE: it cannot be forwarded as a stream. */
static enum relay_kind kind_of(const struct relay *r, int fd)
{
        struct statx st;
        int type = 0;
        socklen_t size = sizeof type;
        if (sys_statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &st) < 0)
                return RELAY_NONE;
        if (S_ISSOCK(st.stx_mode))
                return sys_call5(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
                                       type == SOCK_STREAM
                               ? RELAY_BOTH
                               : RELAY_NONE;
        if (r->inside) /* init only sends masters of terminals */
                return S_ISCHR(st.stx_mode) ? RELAY_TERMINAL : RELAY_NONE;
        if (S_ISREG(st.stx_mode)) /* content is read from the current offset */
                return RELAY_READS;
        long mode = sys_call2(SYS_fcntl, fd, F_GETFL) & O_ACCMODE;
        return mode == O_RDONLY ? RELAY_READS : mode == O_WRONLY ? RELAY_WRITES : RELAY_NONE;
}

/* Keeps the descriptor: if the receiver would read from it, the relay reads instead, and so on. */
static int relay_message_keep(struct relay *r, const struct message *m, unsigned i)
{
        enum relay_kind kind = kind_of(r, m->fds[i]);
        struct relay_stream *s = kind == RELAY_NONE ? NULL : relay_stream_new(r, r->next_id, m->tag, kind);
        if (!s)
                return -ENOTSUP;
        r->next_id = r->next_id > UINT32_MAX - 2 ? 2 + (r->next_id & 1) : r->next_id + 2;
        s->fd = m->fds[i];
        s->reads = kind != RELAY_WRITES;
        s->writes = kind != RELAY_READS;
        sys_set_nonblock(s->fd);
        r->sent.record.fds[i].stream = s->id;
        r->sent.record.fds[i].kind = kind;
        return 0;
}

static bool asks_for_terminal(const struct relay_parcel *p)
{
        struct init_spawn head;
        if (p->record.type != INIT_SPAWN || p->record.len < sizeof head)
                return false;
        memcpy(&head, p->data, sizeof head);
        return head.flags & INIT_TERMINAL;
}

static int take_message(struct relay *r, struct message *m)
{
        struct relay_parcel *p = &r->sent;
        int e = 0;
        memset(&p->record, 0, sizeof p->record);
        p->record.type = m->type;
        p->record.tag = m->tag;
        p->record.len = m->len;
        p->record.n_fds = m->n_fds;
        for (unsigned i = 0; i < m->n_fds; i++) {
                if (e == 0)
                        e = relay_message_keep(r, m, i);
                if (e < 0)
                        sys_close(m->fds[i]);
        }
        if (!r->inside && asks_for_terminal(p))
                r->terminals_due++;
        p->done = 0;
        p->full = e == 0 && !(r->inside && relay_message_hold(r, p));
        return e;
}

/* Puts as much of the message into frames as the credit and the buffer allow. */
static void relay_message_push(struct relay *r)
{
        struct relay_parcel *p = &r->sent;
        const size_t all = RECORD + p->record.len;
        size_t room;
        while (p->done < all && r->control.credit > 0 && (room = relay_room(r, RELAY_FOR_FRAMES)) > 0) {
                const bool in_record = p->done < RECORD;
                const char *from =
                        in_record ? (const char *)&p->record + p->done : p->data + (p->done - RECORD);
                size_t len = (in_record ? RECORD : all) - p->done;
                len = len < room ? len : room;
                len = len < r->control.credit ? len : r->control.credit;
                len = len < RELAY_DATA_MAX ? len : RELAY_DATA_MAX;
                relay_put(r, RELAY_DATA, 0, (uint32_t)len);
                relay_put_bytes(r, from, len);
                r->control.credit -= (uint32_t)len;
                p->done += len;
        }
        if (p->done < all)
                return;
        p->full = false;
        give_back(p);
}

bool relay_wants_messages(const struct relay *r)
{
        return !r->far_closed && !r->local_closed && !r->sent.full &&
               relay_streams_free(r) >= MESSAGE_FDS_MAX;
}

int relay_send_messages(struct relay *r)
{
        for (;;) {
                struct message m;
                if (r->far_closed)
                        return 0;
                if (r->sent.full)
                        relay_message_push(r);
                if (r->sent.full)
                        return 0;
                if (r->inside && r->reader.got == 0 && relay_message_release(r, &r->sent))
                        continue;
                if (r->local_closed && r->control.reads && r->n_held == 0) {
                        r->control.reads = false;
                        r->control.end_due = true;
                }
                if (!relay_wants_messages(r))
                        return 0;
                int e = message_read(&r->reader, r->local, &m);
                if (e == -EAGAIN)
                        return 0;
                if (e <= 0)
                        r->local_closed = true;
                else if ((e = take_message(r, &m)) < 0)
                        return e;
        }
}

/* ---- from the far side to the socket ---- */

/* Creates the replacement of a descriptor of the far side: *ret_ours is the relay's end, the return value
 * the end that is sent with the message. */
static int stand_in(const struct relay *r, enum relay_kind kind, int *ret_ours)
{
        int pair[2], e;
        if (kind == RELAY_TERMINAL)
                return r->open_terminal(ret_ours);
        e = kind == RELAY_BOTH ? message_pair(pair) : sys_pipe2(pair, 0);
        if (e < 0)
                return e;
        const int ours = kind == RELAY_READS ? 1 : 0;
        *ret_ours = pair[ours];
        return pair[!ours];
}

static int open_one(struct relay *r, unsigned i)
{
        struct relay_parcel *p = &r->received;
        const enum relay_kind kind = (enum relay_kind)p->record.fds[i].kind;
        int ours = -1, theirs = stand_in(r, kind, &ours);
        if (theirs < 0)
                return theirs;
        struct relay_stream *s = relay_stream_new(r, p->record.fds[i].stream, p->record.tag, kind);
        if (!s) {
                sys_close(ours);
                sys_close(theirs);
                return -EMFILE;
        }
        s->fd = ours;
        s->reads = kind != RELAY_READS;
        s->writes = kind != RELAY_WRITES;
        s->credit = RELAY_WINDOW;
        s->open_due = true;
        sys_set_nonblock(ours);
        p->fds[i] = theirs;
        return 0;
}

static void relay_message_forget(struct relay *r, unsigned n)
{
        for (unsigned i = 0; i < n; i++) {
                struct relay_stream *s = relay_stream_find(r, r->received.record.fds[i].stream);
                sys_close(r->received.fds[i]);
                sys_close(TAKE_FD(s->fd));
                s->kind = RELAY_NONE;
        }
}

/* Returns -EAGAIN if there are too many descriptors now. */
static int open_all(struct relay *r)
{
        const unsigned n = r->received.record.n_fds;
        if (relay_streams_free(r) < n)
                return -EAGAIN;
        for (unsigned i = 0; i < n; i++) {
                int e = open_one(r, i);
                if (e < 0) {
                        relay_message_forget(r, i);
                        return e == -EMFILE || e == -ENFILE || e == -ENOMEM ? -EAGAIN : e;
                }
        }
        return 0;
}

/* Checks that the request is valid for the far side. */
static int relay_message_check(struct relay *r)
{
        const struct relay_record *m = &r->received.record;
        if (m->len > (r->inside ? INIT_REQUEST_MAX : INIT_REPLY_MAX) || m->n_fds > MESSAGE_FDS_MAX ||
            (!r->inside && m->n_fds > (m->type == INIT_STARTED && r->terminals_due > 0 ? 1 : 0)))
                return -EPROTO;
        for (unsigned i = 0; i < m->n_fds; i++) {
                const uint32_t id = m->fds[i].stream, kind = m->fds[i].kind;
                if (id == 0 || (id & 1) == r->inside || relay_stream_find(r, id) ||
                    (r->inside ? kind < RELAY_READS || kind > RELAY_BOTH : kind != RELAY_TERMINAL))
                        return -EPROTO;
                for (unsigned other = 0; other < i; other++)
                        if (m->fds[other].stream == id)
                                return -EPROTO;
        }
        return 0;
}

/* Returns 1 if a complete message has arrived, 0 if not, or -errno. */
static int assemble(struct relay *r)
{
        struct relay_parcel *p = &r->received;
        if (p->done < RECORD) {
                p->done += relay_ring_take(&r->control, (char *)&p->record + p->done, RECORD - p->done);
                if (p->done < RECORD)
                        return 0;
                int e = relay_message_check(r);
                if (e < 0)
                        return e;
        }
        const size_t have = p->done - RECORD;
        p->done += relay_ring_take(&r->control, p->data + have, p->record.len - have);
        return p->done == RECORD + p->record.len;
}

/* Descriptors are sent with the first byte. */
static int send_some(struct relay *r)
{
        struct relay_parcel *p = &r->received;
        uint32_t header[3] = {p->record.type, p->record.tag, p->record.len};
        const size_t in_header = p->done < sizeof header ? sizeof header - p->done : 0;
        const size_t in_data = p->done < sizeof header ? 0 : p->done - sizeof header;
        struct iovec parts[2] = {{(char *)header + (sizeof header - in_header), in_header},
                                 {p->data + in_data, p->record.len - in_data}};
        union sys_rights rights;
        struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
        if (p->done == 0)
                sys_rights_put(&msg, &rights, p->fds, p->record.n_fds);
        long n = sys_rights_send_msg(r->local, &msg, MSG_DONTWAIT);
        if (n < 0)
                return n == -EAGAIN ? -EAGAIN : -EPIPE;
        for (unsigned i = 0; p->done == 0 && i < p->record.n_fds; i++)
                sys_close(p->fds[i]);
        if (p->done == 0)
                p->record.n_fds = 0;
        p->done += (size_t)n;
        return 0;
}

static int send_parcel(struct relay *r)
{
        struct relay_parcel *p = &r->received;
        while (p->done < 3 * sizeof(uint32_t) + p->record.len) {
                int e = send_some(r);
                if (e < 0)
                        return e;
        }
        p->done = 0;
        p->full = false;
        r->n_messages++;
        give_back(p);
        return 0;
}

/* The socket's peer is gone.  Its last messages are still forwarded. */
static void fall_deaf(struct relay *r)
{
        struct relay_parcel *p = &r->received;
        for (unsigned i = 0; i < p->record.n_fds; i++)
                sys_close(p->fds[i]);
        p->full = false;
        r->n_held = r->inside ? r->n_held : 0;
        r->deaf = true;
}

int relay_deliver_messages(struct relay *r)
{
        struct relay_parcel *p = &r->received;
        for (;;) {
                int e = p->full ? send_parcel(r) : 0;
                if (e == -EPIPE)
                        fall_deaf(r);
                if (e == -EAGAIN || r->deaf)
                        return 0;
                if (r->last > 0 && r->n_messages >= r->last)
                        return 0;
                if (!r->inside && p->done == 0 && relay_message_release(r, p))
                        continue;
                if ((e = assemble(r)) <= 0)
                        return e;
                if ((e = open_all(r)) < 0)
                        return e == -EAGAIN ? 0 : e;
                if (!r->inside && p->record.n_fds > 0)
                        r->terminals_due--;
                p->done = 0;
                p->full = r->inside || !relay_message_hold(r, p);
        }
}
