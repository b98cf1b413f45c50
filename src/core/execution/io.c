/* core/execution/io.c -- the pipes of an execution.
 *
 * Output is always read: what exceeds the limits is counted and dropped, so that the code is never blocked.
 * Only a live reader that cannot take more stops reading, and then the deadline ends the execution. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "core/execution/internal.h"

#define READS_AT_ONCE 16             /* per event, to let other descriptors proceed */
#define FEED_MAX (1024u * 1024)      /* maximum of queued input */
#define DRAIN_MAX (4u * 1024 * 1024) /* more than a pipe can hold */

static char buffer[64 * 1024]; /* shared: one thread, contents are not kept across calls */

static void on_stdout(struct fd_poll *poll, int events);
static void on_stderr(struct fd_poll *poll, int events);

static enum cella_stream stream_of(const struct execution *ex, const struct stream_out *out)
{
        return out == &ex->out[0] ? CELLA_STDOUT : CELLA_STDERR;
}

static int watch_output(struct execution *ex)
{
        static const fd_poll_callback callbacks[] = {on_stdout, on_stderr};
        int r = 0;
        for (int i = 0; i < 2 && r == 0; i++) {
                struct stream_out *out = &ex->out[i];
                if (ex->waits)
                        fd_poll_stop(&out->poll);
                else if (out->fd >= 0)
                        r = fd_poll_start(&out->poll, ex->core->loop, out->fd, UV_READABLE, callbacks[i]);
        }
        return r;
}

/* Delivers output with secrets already masked. */
static void execution_deliver(struct execution *ex, struct stream_out *out, const char *data, size_t len)
{
        if (len == 0)
                return;
        keep_add(&out->keep, data, len);
        if (ex->kind == EXECUTION_BACKGROUND) {
                ring_add(&out->ring, data, len);
                list_each (at, &ex->followers, other)
                        list_entry(at, struct follower, link)->on_more(list_entry(at, struct follower, link));
        }
        if (ex->events && ex->events->on_output)
                ex->events->on_output(ex, stream_of(ex, out), data, len, ex->context);
}

/* The output has ended: delivers the bytes held back as a possible start of a secret. */
static void flush_output(struct execution *ex, struct stream_out *out)
{
        const char *data;
        size_t len = mask_flush(out->mask, &data);
        execution_deliver(ex, out, data, len);
}

static void close_output(struct execution *ex, struct stream_out *out)
{
        if (out->fd < 0)
                return;
        flush_output(ex, out);
        fd_poll_close(&out->poll, TAKE_FD(out->fd));
        if (ex->out[0].fd < 0 && ex->out[1].fd < 0)
                execution_output_ended(ex);
}

static void execution_take(struct execution *ex, struct stream_out *out, const char *data, size_t len)
{
        out->total += len;
        len = mask_feed(out->mask, &data, len);
        execution_deliver(ex, out, data, len);
        if (verdict_output_ends(&ex->limits, ex->request.kill_on_output_limit, out->total) &&
            ex->phase < EXECUTION_ENDED)
                execution_end(ex, END_OUTPUT);
}

/* Returns false if there is nothing to read now.  Closes the descriptor at its end. */
static bool execution_read_once(struct execution *ex, struct stream_out *out)
{
        ssize_t n = read(out->fd, buffer, sizeof buffer);
        if (n > 0) {
                execution_take(ex, out, buffer, (size_t)n);
                return true;
        }
        if (n < 0 && errno == EINTR)
                return true;
        if (n == 0 || errno != EAGAIN)
                close_output(ex, out);
        return false;
}

static void receive_output(struct execution *ex, struct stream_out *out)
{
        execution_ref(ex);
        for (int i = 0; i < READS_AT_ONCE && out->fd >= 0 && !ex->waits; i++)
                if (!execution_read_once(ex, out))
                        break;
        execution_unref(ex);
}

static void on_stdout(struct fd_poll *poll, int events)
{
        struct execution *ex = list_entry(poll, struct execution, out[0].poll);
        (void)events;
        receive_output(ex, &ex->out[0]);
}

static void on_stderr(struct fd_poll *poll, int events)
{
        struct execution *ex = list_entry(poll, struct execution, out[1].poll);
        (void)events;
        receive_output(ex, &ex->out[1]);
}

void execution_drain(struct execution *ex)
{
        for (int i = 0; i < 2; i++) {
                uint64_t until = ex->out[i].total + DRAIN_MAX;
                while (ex->out[i].fd >= 0 && ex->out[i].total < until && execution_read_once(ex, &ex->out[i]))
                        continue;
                flush_output(ex, &ex->out[i]); /* another process may still have the pipe */
        }
        execution_values_drain(ex);
}

void execution_wait(struct execution *ex)
{
        ex->waits = true;
        (void)watch_output(ex); /* stopping cannot fail */
}

void execution_continue(struct execution *ex)
{
        ex->waits = false;
        if (watch_output(ex) < 0) /* no kernel memory: the output could not be read any more */
                execution_cancel(ex);
}

/* ---- input ---- */

static void close_input(struct execution *ex)
{
        if (ex->in.fd < 0)
                return;
        fd_poll_close(&ex->in.poll, TAKE_FD(ex->in.fd));
}

static void on_writable(struct fd_poll *poll, int events);

/* Writes queued input; closes the pipe after the last byte. */
static void push_input(struct execution *ex)
{
        struct stream_in *in = &ex->in;
        while (in->at < in->len) {
                ssize_t n = write(in->fd, in->data + in->at, in->len - in->at);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN) {
                        /* If polling fails, the code gets an end of file instead of waiting for ever. */
                        if (fd_poll_start(&in->poll, ex->core->loop, in->fd, UV_WRITABLE, on_writable) < 0)
                                close_input(ex);
                        return;
                }
                if (n < 0) { /* the reader is gone */
                        close_input(ex);
                        return;
                }
                in->at += (size_t)n;
        }
        in->at = in->len = 0;
        fd_poll_stop(&in->poll);
        if (!in->open_ended)
                close_input(ex);
}

static void on_writable(struct fd_poll *poll, int events)
{
        (void)events;
        push_input(list_entry(poll, struct execution, in.poll));
}

static int add_input(struct stream_in *in, const char *data, size_t len)
{
        if (in->len - in->at + len > FEED_MAX && in->len > in->at)
                return -ENOBUFS;
        if (in->at > 0) {
                memmove(in->data, in->data + in->at, in->len - in->at);
                in->len -= in->at;
                in->at = 0;
        }
        char *more = realloc(in->data, in->len + len + 1);
        if (!more)
                return -ENOMEM;
        memcpy(more + in->len, data, len);
        in->data = more;
        in->len += len;
        return 0;
}

int execution_feed(struct execution *ex, const char *data, size_t len, bool eof)
{
        if (ex->in.fd < 0 || !ex->in.open_ended)
                return -EPIPE;
        int r = add_input(&ex->in, data, len);
        if (r < 0)
                return r;
        ex->in.open_ended = !eof;
        push_input(ex);
        return 0;
}

/* ---- opening and closing ---- */

/* Made in advance for the next execution. */
static int spare[3][2];
static unsigned n_spare;

static int make_pipe(int pair[2])
{
        if (pipe2(pair, O_CLOEXEC) < 0)
                return -errno;
        /* The code has another uid, and /dev/stdout opens the pipe by name. */
        fchmod(pair[0], 0666);
        return 0;
}

void execution_spare_pipes(void)
{
        while (n_spare < ARRAY_LEN(spare) && make_pipe(spare[n_spare]) == 0)
                n_spare++;
}

static int take_pipe(int pair[2])
{
        if (n_spare == 0)
                return make_pipe(pair);
        memcpy(pair, spare[--n_spare], sizeof spare[0]);
        return 0;
}

static int open_pipe(int ours, int *ret_ours, int *ret_theirs)
{
        int pair[2], r = take_pipe(pair);
        if (r < 0)
                return r;
        if (fcntl(pair[ours], F_SETFL, O_NONBLOCK) < 0) {
                r = -errno;
                close(pair[0]);
                close(pair[1]);
                return r;
        }
        *ret_ours = pair[ours];
        *ret_theirs = pair[!ours];
        return 0;
}

int execution_open_io(struct execution *ex, int theirs[3], struct cella_err *err)
{
        int pair[2];
        theirs[0] = theirs[1] = theirs[2] = -1;
        int r = 0;
        if (ex->kind == EXECUTION_BACKGROUND || ex->request.input_len > 0)
                r = open_pipe(1, &ex->in.fd, &theirs[0]);
        else if ((r = take_pipe(pair)) == 0) { /* no input */
                close(pair[1]);
                theirs[0] = pair[0];
        }
        for (int i = 0; i < 2 && r == 0; i++)
                r = open_pipe(0, &ex->out[i].fd, &theirs[i + 1]);
        ex->in.open_ended = ex->kind == EXECUTION_BACKGROUND;
        if (r == 0 && ex->request.input_len > 0)
                r = add_input(&ex->in, ex->request.input, ex->request.input_len);
        if (r == 0)
                r = watch_output(ex);
        if (r < 0) {
                for (int i = 0; i < 3; i++)
                        if (theirs[i] >= 0)
                                close(theirs[i]);
                return err_set(err, CELLA_INTERNAL, r, "cannot make pipes");
        }
        if (ex->in.fd >= 0)
                push_input(ex);
        return 0;
}

void execution_close_io(struct execution *ex)
{
        close_input(ex);
        for (int i = 0; i < 2; i++)
                close_output(ex, &ex->out[i]);
        execution_values_close(ex);
}
