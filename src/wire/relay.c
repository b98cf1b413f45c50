#include "wire/relay.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>

#include "base/auto.h"
#include "base/clock.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

#define SIZE_US 100000      /* interval of checks for a changed terminal size */
#define FAREWELL_US 2000000 /* for the owner to read the remaining data of a dead container */

/* ---- outgoing frames ---- */

size_t relay_room(const struct relay *r, size_t kept)
{
        const size_t used = r->out_len + sizeof(struct relay_frame) + kept;
        return used < sizeof r->out_bytes ? sizeof r->out_bytes - used : 0;
}

static bool has_room_for_frame(const struct relay *r)
{
        return sizeof r->out_bytes - r->out_len >= sizeof(struct relay_frame);
}

void relay_put_bytes(struct relay *r, const char *data, size_t len)
{
        memcpy(r->out_bytes + r->out_len, data, len);
        r->out_len += len;
}

void relay_put(struct relay *r, enum relay_frame_kind kind, uint32_t stream, uint32_t value)
{
        const struct relay_frame frame = {kind, stream, value};
        relay_put_bytes(r, (const char *)&frame, sizeof frame);
}

/* Closing a socket whose peer has unread data resets the connection. */
static bool is_gone(long n)
{
        return n == -EPIPE || n == -ECONNRESET;
}

static int send_out(struct relay *r)
{
        while (r->out_at < r->out_len) {
                ssize_t n = sys_write(r->out, r->out_bytes + r->out_at, r->out_len - r->out_at);
                if (n == -EAGAIN)
                        break;
                if (is_gone(n) &&
                    !r->inside) /* the peer does not read any more, but its data must still be read */
                        r->out_at = r->out_len;
                else if (n < 0)
                        return (int)n;
                else
                        r->out_at += (size_t)n;
        }
        memmove(r->out_bytes, r->out_bytes + r->out_at, r->out_len - r->out_at);
        r->out_len -= r->out_at;
        r->out_at = 0;
        return 0;
}

static int wire_relay_receive(struct relay *r)
{
        for (int i = 0; i < 4; i++) { /* then the other descriptors are served */
                long n = r->receive(r, r->in_bytes, sizeof r->in_bytes);
                if (n == -EAGAIN)
                        return 0;
                if (n <= 0)
                        return n == 0 || is_gone(n) ? -EPIPE : (int)n;
                int e = relay_take(r, r->in_bytes, (size_t)n);
                if (e < 0)
                        return e;
        }
        return 0;
}

/* ---- events of the descriptors ---- */

static void look_at_size(struct relay *r, struct relay_stream *s)
{
        struct winsize w = {0};
        if (r->inside || s->kind != RELAY_TERMINAL || s->fd < 0 ||
            sys_call3(SYS_ioctl, s->fd, TIOCGWINSZ, &w) < 0)
                return;
        uint32_t size = (uint32_t)w.ws_col << 16 | w.ws_row;
        if (size == s->size || !s->open || !has_room_for_frame(r))
                return;
        s->size = size;
        relay_put(r, RELAY_SIZE, s->id, size);
}

static void read_stream(struct relay *r, struct relay_stream *s)
{
        const size_t head = sizeof(struct relay_frame);
        size_t len;
        while (s->reads && s->credit > 0 && (len = relay_room(r, RELAY_FOR_MESSAGES)) > 0) {
                len = len < s->credit ? len : s->credit;
                len = len < RELAY_DATA_MAX ? len : RELAY_DATA_MAX;
                ssize_t n = sys_read(s->fd, r->out_bytes + r->out_len + head, len);
                if (n == -EAGAIN) {
                        s->wet = false;
                        return;
                }
                if (n <= 0) {
                        relay_end_reading(s);
                        return;
                }
                relay_put(r, RELAY_DATA, s->id, (uint32_t)n);
                r->out_len += (size_t)n;
                s->credit -= (uint32_t)n;
                if (!s->wet)
                        return;
        }
}

static void put_due(struct relay *r, struct relay_stream *s)
{
        if (s->open_due && has_room_for_frame(r)) {
                relay_put(r, RELAY_GRANT, s->id, RELAY_WINDOW);
                s->open_due = false;
                s->open = true;
        }
        if (!s->open)
                return;
        if (s->consumed >= RELAY_WINDOW / 4 && !s->ended && !s->stopped && has_room_for_frame(r)) {
                relay_put(r, RELAY_GRANT, s->id, s->consumed);
                s->in_flight -= s->consumed;
                s->consumed = 0;
        }
        if (s->stop_due && has_room_for_frame(r)) {
                relay_put(r, RELAY_STOP, s->id, 0);
                s->stop_due = false;
        }
        if (s->end_due && has_room_for_frame(r)) {
                relay_put(r, RELAY_END, s->id, 0);
                s->end_due = false;
        }
}

/* Events to poll for on a stream's descriptor.  POLLERR for a pipe without reader is always reported. */
static short wanted(const struct relay_stream *s)
{
        const bool writes = s->writes && !s->stopped;
        return (short)((s->reads && s->credit > 0 ? POLLIN : 0) | (writes && s->len > 0 ? POLLOUT : 0));
}

static bool is_watched(const struct relay_stream *s)
{
        return s->kind != RELAY_NONE && s->fd >= 0 &&
               (wanted(s) ||
                (s->writes && !s->stopped && s->kind != RELAY_BOTH && s->kind != RELAY_TERMINAL));
}

static void attend(struct relay *r, struct relay_stream *s, short events)
{
        if (s->kind == RELAY_NONE)
                return;
        if (s->len > 0 && (events & (POLLOUT | POLLERR | POLLHUP)))
                relay_flush(s);
        else if (s->writes && !s->stopped && !s->reads && (events & POLLERR))
                relay_stop_writing(s);
        look_at_size(r, s);
        if (s->wet || (events & (POLLIN | POLLERR | POLLHUP)))
                read_stream(r, s);
}

static int wait_for_something(struct relay *r, int64_t timeout_us)
{
        r->polls[0] = (struct pollfd){r->far_closed ? -1 : r->in, POLLIN, 0};
        r->polls[1] = (struct pollfd){r->out_len > 0 && !r->far_closed ? r->out : -1, POLLOUT, 0};
        const short local =
                (short)((relay_wants_messages(r) ? POLLIN : 0) | (r->received.full ? POLLOUT : 0));
        r->polls[2] = (struct pollfd){local ? r->local : -1, local, 0};
        for (unsigned i = 0; i < r->n_streams; i++) {
                struct relay_stream *s = &r->streams[i];
                r->polls[3 + i] = (struct pollfd){is_watched(s) ? s->fd : -1, wanted(s), 0};
                if (s->kind == RELAY_TERMINAL && !r->inside && (timeout_us < 0 || timeout_us > SIZE_US))
                        timeout_us = SIZE_US;
                if (s->wet && s->credit > 0 && relay_room(r, RELAY_FOR_MESSAGES) > 0)
                        timeout_us = 0;
        }
        int n = sys_poll(r->polls, 3 + r->n_streams, timeout_us);
        return n < 0 && n != -EINTR ? n : 0;
}

/* Runs one iteration.  Data read in it is also sent in it, as far as the stream accepts it. */
static int wire_relay_turn(struct relay *r, int64_t timeout_us)
{
        int e = wait_for_something(r, timeout_us);
        const unsigned n = r->n_streams;
        if (e == 0 && r->polls[0].revents)
                e = wire_relay_receive(r);
        if (e == 0)
                e = relay_send_messages(r);
        r->first = n > 0 ? (r->first + 1) % n : 0;
        for (unsigned i = 0; i < n && e == 0; i++) {
                const unsigned at = (r->first + i) % n;
                attend(r, &r->streams[at], r->polls[3 + at].revents);
        }
        if (e == 0)
                e = relay_deliver_messages(r);
        if (e == 0)
                e = relay_send_messages(r); /* messages that waited for data read just now */
        put_due(r, &r->control);
        for (unsigned i = 0; i < r->n_streams; i++) {
                put_due(r, &r->streams[i]);
                relay_free_if_over(&r->streams[i]);
        }
        return e < 0 || r->far_closed ? e : send_out(r);
}

/* ---- life cycle ---- */

/* The container is gone.  Delivers its remaining data to the owner, until all is read or the time is over. */
static void say_farewell(struct relay *r)
{
        const int64_t until = clock_us() + FAREWELL_US;
        r->far_closed = true;
        for (unsigned i = 0; i < r->n_streams; i++) {
                struct relay_stream *s = &r->streams[i];
                relay_end_reading(s);
                s->end_due = s->stop_due = s->open_due = false;
                s->ended = s->writes;
                if (s->kind != RELAY_NONE)
                        relay_flush(s);
        }
        for (int64_t left = FAREWELL_US; left > 0; left = until - clock_us()) {
                bool waits = r->received.full || r->n_held > 0;
                for (unsigned i = 0; i < r->n_streams; i++)
                        waits |= r->streams[i].kind != RELAY_NONE && r->streams[i].len > 0;
                r->out_len = r->out_at = 0;
                if (!waits || wire_relay_turn(r, left) < 0)
                        return;
        }
}

static bool end_is_sent(const struct relay *r)
{
        return r->local_closed && !r->control.end_due && !r->control.reads && r->out_len == 0;
}

/* The container ends when the inside ends.  Podman then discards the output that it has not forwarded yet if
 * a frame for the container arrives at that time (the grant for the last output, for example).  So the
 * inside waits until the outside has received everything and closes the stream. */
static bool may_end(const struct relay *r)
{
        return !r->inside && end_is_sent(r);
}

int relay_run(struct relay *r, uint32_t messages)
{
        int e = 0;
        r->last = messages;
        while (e == 0) {
                if (messages > 0 && r->n_messages >= messages)
                        return 1;
                if (may_end(r))
                        return 0;
                if (r->control.ended && r->control.len == 0 && !r->received.full && r->n_held == 0)
                        e = -EPIPE;
                else
                        e = wire_relay_turn(r, -1);
        }
        if (e == -EPIPE) /* messages that arrived together with the end */
                e = relay_deliver_messages(r);
        if (!r->inside)
                say_farewell(r);
        return e == -EPIPE ? 0 : e;
}

uint32_t relay_kernel(void)
{
        struct utsname own = {0};
        uint32_t number = 2166136261u;
        sys_call1(SYS_uname, &own);
        for (const char *at = own.version; *at; at++)
                number = (number ^ (unsigned char)*at) * 16777619u;
        return number;
}

void relay_init(struct relay *r, char *buffers)
{
        const size_t requests = INIT_REQUEST_MAX, replies = INIT_REPLY_MAX;
        r->control = (struct relay_stream){
                .open = true, .fd = -1, .reads = true, .writes = true, .credit = RELAY_WINDOW};
        r->next_id = r->inside ? 1 : 2;
        r->sent.data = buffers;
        r->received.data = buffers + (r->inside ? replies : requests);
        message_reader_init(&r->reader, r->sent.data, r->inside ? replies : requests);
        if (r->inside)
                relay_put(r, RELAY_HELLO, RELAY_GREETING, relay_kernel());
}

void relay_done(struct relay *r)
{
        message_reader_done(&r->reader);
        for (unsigned i = 0; i < MESSAGE_FDS_MAX; i++)
                if (r->received.full && i < r->received.record.n_fds)
                        sys_close(r->received.fds[i]);
        for (unsigned i = 0; i < r->n_streams; i++) {
                struct relay_stream *s = &r->streams[i];
                s->reads = s->end_due = s->writes = s->stop_due = s->open_due = false;
                relay_free_if_over(s);
        }
        if (r->control.ring)
                sys_call2(SYS_munmap, r->control.ring, RELAY_WINDOW);
        r->control.ring = NULL;
}
