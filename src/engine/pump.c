#include "engine/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "engine/link/pty.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/raw.h"

/* The caller's pipe or terminal must not be made non-blocking, because other processes share it.  Opened
 * again, it is independent.  If another user made it, it cannot be opened again; then only small pieces are
 * written.  Sockets have a flag per call, and files never block. */
static void open_target(struct pump_out *p, int fd)
{
        struct stat st;
        char path[32];
        p->to = fd;
        p->own = p->is_socket = p->pty = false;
        p->write_max = PUMP_BYTES;
        if (fd < 0 || fstat(fd, &st) < 0)
                return;
        p->is_socket = S_ISSOCK(st.st_mode);
        if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
                return;
        /* poll() reports a pipe as writable only if it accepts this much without blocking.  A terminal may
         * accept less; then a write waits for its reader. */
        p->write_max = PIPE_BUF;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        int again = sys_openat(AT_FDCWD, path, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
        if (again < 0)
                return;
        p->to = again;
        p->own = true;
        p->write_max = PUMP_BYTES;
}

void pump_out_init(struct pump_out *p, int from, enum cella_stream stream,
                   const struct cella_command *command, uint64_t output_bytes)
{
        open_target(p, command->stream_fds ? command->stream_fds[stream] : -1);
        p->from = from;
        p->stream = stream;
        p->command = command;
        p->live_max = SIZE_MAX;
        p->total = 0;
        p->last_len = 0;
        p->pending = p->buffer;
        p->len = p->at = 0;
        p->rest = NULL;
        p->broken = false;
        if (p->to >= 0 && command->limit_streamed)
                p->live_max = output_bytes / 2;
        keep_init(&p->keep, output_bytes);
}

void pump_out_done(struct pump_out *p)
{
        sys_close(p->from);
        if (p->own)
                sys_close(p->to);
        free(p->rest);
        keep_done(&p->keep);
}

bool pump_out_pending(const struct pump_out *p)
{
        return p->at < p->len && !p->broken;
}

struct pollfd pump_out_wants(const struct pump_out *p)
{
        if (pump_out_pending(p))
                return (struct pollfd){p->to, POLLOUT, 0};
        return (struct pollfd){p->from, p->from >= 0 ? POLLIN : 0, 0};
}

static void write_some(struct pump_out *p)
{
        const char *data = p->pending + p->at;
        size_t n = p->len - p->at;
        if (p->write_max < PUMP_BYTES) {
                /* The other stream may have filled the same pipe since the caller's poll(). */
                struct pollfd now = {p->to, POLLOUT, 0};
                if (sys_poll(&now, 1, 0) <= 0)
                        return;
        }
        if (n > p->write_max)
                n = p->write_max;
        ssize_t done = p->is_socket ? sys_call6(SYS_sendto, p->to, (long)data, (long)n,
                                                MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0)
                                    : sys_write(p->to, data, n);
        if (done == -EAGAIN)
                return;
        if (done < 0) {
                p->broken = true;
                return;
        }
        p->at += (size_t)done;
}

/* Adds n new bytes in the buffer to the end of the stream that is remembered. */
static void pump_remember(struct pump_out *p, size_t n)
{
        const size_t added = n < sizeof p->last ? n : sizeof p->last, room = sizeof p->last - added,
                     kept = p->last_len < room ? p->last_len : room;
        memmove(p->last, p->last + p->last_len - kept, kept);
        memcpy(p->last + kept, p->buffer + n - added, added);
        p->last_len = kept + added;
}

/* Decides what to do with n new bytes in the buffer. */
static void pump_take(struct pump_out *p, size_t n)
{
        uint64_t before = p->total;
        if (p->stream == CELLA_STDERR)
                pump_remember(p, n);
        p->total += n;
        if (p->to >= 0) {
                size_t live = before >= p->live_max ? 0 : p->live_max - (size_t)before;
                p->pending = p->buffer;
                p->at = 0;
                p->len = n < live ? n : live;
                if (p->live_max != SIZE_MAX)
                        keep_add(&p->keep, p->buffer, n);
        } else if (p->command->on_output) {
                if (p->command->on_output(p->command->userdata, p->stream, p->buffer, n) < 0)
                        p->broken = true;
        } else {
                keep_add(&p->keep, p->buffer, n);
        }
}

/* Returns true if the pipe is empty or closed. */
static bool read_some(struct pump_out *p)
{
        if (p->from < 0)
                return true;
        ssize_t n = p->pty ? pty_read(p->from, p->buffer, sizeof p->buffer)
                           : sys_read(p->from, p->buffer, sizeof p->buffer);
        if (n == -EAGAIN || (p->pty && n == -EINTR))
                return true;
        if (n <= 0) {
                p->broken = p->pty && n < 0 && n != -EIO; /* EIO: nothing has the terminal open */
                sys_close(p->from);
                p->from = -1;
                return true;
        }
        pump_take(p, (size_t)n);
        return false;
}

void pump_out_move(struct pump_out *p)
{
        if (pump_out_pending(p))
                write_some(p);
        else
                read_some(p);
}

bool pump_out_drain(struct pump_out *p)
{
        while (!pump_out_pending(p))
                if (read_some(p))
                        return true;
        return false;
}

void pump_out_finish(struct pump_out *p)
{
        size_t len = 0;
        if (p->rest || p->to < 0 || p->live_max == SIZE_MAX || p->total <= p->live_max)
                return;
        if (keep_take(&p->keep, &p->rest, &len) < 0 || len <= p->live_max)
                return;
        p->pending = p->rest;
        p->at = p->live_max;
        p->len = len;
}

void pump_in_init(struct pump_in *p, int from, int to)
{
        p->from = from;
        p->to = to;
        p->len = p->at = 0;
        p->terminal = NULL;
        p->broken = false;
}

void pump_in_done(struct pump_in *p)
{
        sys_close(p->to);
        p->to = -1;
}

struct pollfd pump_in_wants(const struct pump_in *p)
{
        if (p->to < 0)
                return (struct pollfd){-1, 0, 0};
        if (p->at < p->len)
                return (struct pollfd){p->to, POLLOUT, 0};
        return (struct pollfd){p->from, POLLIN, 0};
}

void pump_in_move(struct pump_in *p)
{
        if (p->at == p->len) {
                ssize_t n = sys_read(p->from, p->buffer, sizeof p->buffer);
                if (n == -EAGAIN)
                        return;
                if (n <= 0) {
                        p->broken = p->terminal != NULL;
                        pump_in_done(p);
                        return;
                }
                p->at = 0;
                p->len = (size_t)n;
                if (p->terminal)
                        terminal_typed(p->terminal, p->buffer, p->len);
        }
        ssize_t n = p->terminal ? pty_write(p->to, p->buffer + p->at, p->len - p->at)
                                : sys_write(p->to, p->buffer + p->at, p->len - p->at);
        if (n == -EAGAIN || (p->terminal && n == -EINTR))
                return;
        if (n < 0) { /* the command has closed it */
                p->broken = p->terminal != NULL;
                pump_in_done(p);
        } else {
                p->at += (size_t)n;
        }
}
