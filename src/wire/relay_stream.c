/* wire/relay_stream.c -- the numbered streams of a relay and the incoming frames for them. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "sys/file.h"
#include "sys/raw.h"
#include "wire/relay.h"

struct relay_stream *relay_stream_find(struct relay *r, uint32_t id)
{
        if (id == 0)
                return &r->control;
        for (unsigned i = 0; i < r->n_streams; i++)
                if (r->streams[i].kind != RELAY_NONE && r->streams[i].id == id)
                        return &r->streams[i];
        return NULL;
}

unsigned relay_streams_free(const struct relay *r)
{
        unsigned n = RELAY_STREAMS - r->n_streams;
        for (unsigned i = 0; i < r->n_streams; i++)
                n += r->streams[i].kind == RELAY_NONE;
        return n;
}

struct relay_stream *relay_stream_new(struct relay *r, uint32_t id, uint32_t tag, enum relay_kind kind)
{
        unsigned i = 0;
        while (i < r->n_streams && r->streams[i].kind != RELAY_NONE)
                i++;
        if (i == RELAY_STREAMS)
                return NULL;
        if (i == r->n_streams)
                r->n_streams++;
        r->streams[i] = (struct relay_stream){.id = id, .tag = tag, .kind = kind, .fd = -1};
        return &r->streams[i];
}

/* Closes or shuts down the unused directions, so that the peer notices. */
static void relay_stream_settle(struct relay_stream *s)
{
        const bool writes = s->writes && !s->stopped;
        if (s->fd < 0)
                return;
        if (!s->reads && !writes)
                sys_close(TAKE_FD(s->fd));
        else if (s->kind == RELAY_BOTH)
                sys_call2(SYS_shutdown, s->fd, s->reads ? SHUT_WR : SHUT_RD);
}

/* A terminal cannot be closed in one direction only. */
void relay_end_reading(struct relay_stream *s)
{
        if (!s->reads)
                return;
        s->reads = s->wet = false;
        s->end_due = true;
        if (s->kind == RELAY_TERMINAL && s->writes && !s->stopped) {
                s->stopped = s->stop_due = true;
                s->len = 0;
        }
        relay_stream_settle(s);
}

static void end_writing(struct relay_stream *s)
{
        s->writes = false;
        s->len = 0;
        if (s->kind == RELAY_TERMINAL)
                relay_end_reading(s);
        relay_stream_settle(s);
}

void relay_stop_writing(struct relay_stream *s)
{
        s->stopped = s->stop_due = true;
        s->len = 0;
        if (s->kind == RELAY_TERMINAL)
                relay_end_reading(s);
        relay_stream_settle(s);
}

void relay_free_if_over(struct relay_stream *s)
{
        if (s->kind == RELAY_NONE || s->reads || s->end_due || s->writes || s->stop_due || s->open_due)
                return;
        sys_close(TAKE_FD(s->fd));
        if (s->ring)
                sys_call2(SYS_munmap, s->ring, RELAY_WINDOW);
        s->ring = NULL;
        s->kind = RELAY_NONE;
}

static bool ring_put(struct relay_stream *s, const char *data, uint32_t len)
{
        if (!s->ring) {
                char *ring =
                        mmap(NULL, RELAY_WINDOW, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                if (ring == MAP_FAILED)
                        return false;
                s->ring = ring;
        }
        uint32_t to = (s->at + s->len) % RELAY_WINDOW,
                 first = len < RELAY_WINDOW - to ? len : RELAY_WINDOW - to;
        memcpy(s->ring + to, data, first);
        memcpy(s->ring, data + first, len - first);
        s->len += len;
        return true;
}

size_t relay_ring_take(struct relay_stream *s, char *data, size_t len)
{
        uint32_t n = len < s->len ? (uint32_t)len : s->len,
                 first = n < RELAY_WINDOW - s->at ? n : RELAY_WINDOW - s->at;
        if (n == 0)
                return 0;
        memcpy(data, s->ring + s->at, first);
        memcpy(data + first, s->ring, n - first);
        s->at = (s->at + n) % RELAY_WINDOW;
        s->len -= n;
        s->consumed += n;
        return n;
}

void relay_flush(struct relay_stream *s)
{
        while (s->len > 0) {
                uint32_t part = s->len < RELAY_WINDOW - s->at ? s->len : RELAY_WINDOW - s->at;
                ssize_t n = sys_write(s->fd, s->ring + s->at, part);
                if (n == -EAGAIN)
                        return;
                if (n <= 0) {
                        relay_stop_writing(s);
                        break;
                }
                s->at = (s->at + (uint32_t)n) % RELAY_WINDOW;
                s->len -= (uint32_t)n;
                s->consumed += (uint32_t)n;
        }
        if (s->ended && s->writes && s->len == 0)
                end_writing(s);
}

/* Writes to the descriptor as much as it accepts and buffers the rest. */
static int take_data(struct relay_stream *s, const char *data, uint32_t len)
{
        if (s->stopped)
                return 0; /* RELAY_STOP was sent already */
        if (s->kind != RELAY_NONE && s->len == 0) {
                ssize_t n = sys_write(s->fd, data, len);
                if (n < 0 && n != -EAGAIN) {
                        relay_stop_writing(s);
                        return 0;
                }
                if (n > 0) {
                        s->consumed += (uint32_t)n;
                        data += n;
                        len -= (uint32_t)n;
                }
        }
        return len == 0 || ring_put(s, data, len) ? 0 : -ENOMEM;
}

/* ---- incoming frames ---- */

static int begin_data(struct relay *r, struct relay_stream *s, uint32_t len)
{
        if (!s || !s->writes || s->ended || len == 0 || len > RELAY_DATA_MAX ||
            s->in_flight + len > RELAY_WINDOW)
                return -EPROTO;
        s->in_flight += len;
        r->data_left = len;
        return 0;
}

static int take_end(struct relay *r, struct relay_stream *s)
{
        if (!s || !s->writes || s->ended)
                return -EPROTO;
        s->ended = true;
        if (s == &r->control)
                return 0;
        if (s->stopped || s->len == 0)
                end_writing(s);
        return 0;
}

/* A grant or stop can arrive for a stream that was closed on our side. */
static int take_grant(struct relay_stream *s, uint32_t more)
{
        if (!s)
                return 0;
        if (more > RELAY_WINDOW || s->credit + more > RELAY_WINDOW)
                return -EPROTO;
        s->credit += more;
        s->open = true;
        return 0;
}

static void set_size(const struct relay *r, const struct relay_stream *s, uint32_t size)
{
        const struct winsize w = {.ws_col = (unsigned short)(size >> 16), .ws_row = (unsigned short)size};
        if (r->inside && s && s->kind == RELAY_TERMINAL && s->fd >= 0)
                sys_call3(SYS_ioctl, s->fd, TIOCSWINSZ, &w);
}

static int take_frame(struct relay *r, const struct relay_frame *f)
{
        struct relay_stream *s = f->kind == RELAY_HELLO ? NULL : relay_stream_find(r, f->stream);
        if (!r->inside && r->greeted == (f->kind == RELAY_HELLO))
                return -EPROTO; /* the hello must be the first frame and must not be repeated */
        switch (f->kind) {
        case RELAY_HELLO:
                r->greeted = true;
                r->kernel = f->value;
                return f->stream == RELAY_GREETING && !r->inside ? 0 : -EPROTO;
        case RELAY_DATA:
                return begin_data(r, s, f->value);
        case RELAY_GRANT:
                return take_grant(s, f->value);
        case RELAY_END:
                return take_end(r, s);
        case RELAY_STOP:
                if (s && s != &r->control)
                        relay_end_reading(s);
                return 0;
        case RELAY_SIZE:
                set_size(r, s, f->value);
                return 0;
        default:
                return -EPROTO;
        }
}

int relay_take(struct relay *r, const char *data, size_t len)
{
        int e = 0;
        while (len > 0 && e == 0) {
                uint32_t n = r->data_left > 0 ? r->data_left : (uint32_t)sizeof r->frame - r->frame_got;
                if (n > len)
                        n = (uint32_t)len;
                if (r->data_left > 0) {
                        r->data_left -= n;
                        e = take_data(relay_stream_find(r, r->frame.stream), data, n);
                } else {
                        memcpy(r->frame_head + r->frame_got, data, n);
                        r->frame_got += n;
                        if (r->frame_got == sizeof r->frame) {
                                r->frame_got = 0;
                                memcpy(&r->frame, r->frame_head, sizeof r->frame);
                                e = take_frame(r, &r->frame);
                        }
                }
                data += n;
                len -= n;
        }
        return e;
}
