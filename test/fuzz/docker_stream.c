/* test/fuzz/docker_stream.c -- whatever a container says on its standard output, and whatever the engine
 * makes of it: its relay outside takes what fits and ends with the rest, within its bounds. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>

#include "docker/stream.h"
#include "fuzz.h"
#include "wire/relay.h"

static void must(bool condition)
{
        if (!condition)
                abort();
}

static long receive(struct relay *r, char *data, size_t size)
{
        (void)r, (void)data, (void)size;
        return -EAGAIN;
}

/* A socket pair in place of a terminal. */
static int open_terminal(int *ret_ours)
{
        int pair[2];
        if (message_pair(pair) < 0)
                return -EMFILE;
        *ret_ours = pair[0];
        return pair[1];
}

/* A command's three pipes, as a server sends them, and one that is to have a terminal: so that there are
 * streams to talk of. */
static void spawn(struct relay *r, int server, int mine[3])
{
        int in[2], out[2], err[2];
        must(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC | O_NONBLOCK) == 0 &&
             pipe2(err, O_CLOEXEC | O_NONBLOCK) == 0);
        const int theirs[3] = {in[0], out[1], err[1]};
        must(message_send(server, INIT_SPAWN, 1, theirs, 3, "x", 1, NULL, 0) == 0);
        for (int i = 0; i < 3; i++)
                close(theirs[i]);
        mine[0] = in[1];
        mine[1] = out[0];
        mine[2] = err[0];
        const struct init_spawn terminal = {.flags = INIT_TERMINAL};
        must(message_send(server, INIT_SPAWN, 2, NULL, 0, &terminal, sizeof terminal, NULL, 0) == 0);
        must(relay_send_messages(r) == 0 && r->n_streams == 3 && r->terminals_due == 1);
        r->out_len = 0; /* the far side has it */
}

static void check(const struct relay *r)
{
        must(r->n_streams <= RELAY_STREAMS && r->n_held <= RELAY_HELD && r->control.len <= RELAY_WINDOW &&
             r->control.in_flight <= RELAY_WINDOW && r->control.credit <= RELAY_WINDOW &&
             (r->received.record.len <= INIT_REPLY_MAX || r->received.done < sizeof r->received.record));
        for (unsigned i = 0; i < r->n_streams; i++)
                must(r->streams[i].kind == RELAY_NONE ||
                     (r->streams[i].len <= r->streams[i].in_flight &&
                      r->streams[i].in_flight <= RELAY_WINDOW && r->streams[i].credit <= RELAY_WINDOW));
}

/* The process behind the relay reads everything, and does not trust it either. */
static void drain(int server, struct message_reader *reader)
{
        struct message m;
        while (message_read(reader, server, &m) > 0) {
                must(m.n_fds == 0 || (m.type == INIT_STARTED && m.n_fds == 1));
                message_close_fds(&m);
        }
}

static void check_stream(const uint8_t *data, size_t size)
{
        static struct relay r;
        static char buffers[RELAY_BUFFERS], reply[INIT_REPLY_MAX];
        struct stream stream = {0};
        struct message_reader reader;
        int local[2], mine[3], e = 0;
        memset(&r, 0, sizeof r);
        must(message_pair(local) == 0);
        r.in = r.out = -1;
        r.local = local[1];
        r.receive = receive;
        r.open_terminal = open_terminal;
        relay_init(&r, buffers);
        message_reader_init(&reader, reply, sizeof reply);
        spawn(&r, local[0], mine);
        for (size_t at = 0; at < size && e == 0;) {
                char piece[300]; /* in pieces of any size */
                size_t n = size - at < 1 + data[at] % sizeof piece ? size - at : 1 + data[at] % sizeof piece;
                memcpy(piece, data + at, n);
                at += n;
                long kept = stream_take(&stream, piece, n);
                must(kept <= (long)n);
                e = kept < 0 ? (int)kept : relay_take(&r, piece, (size_t)kept);
                if (e == 0)
                        e = relay_deliver_messages(&r);
                if (e == 0)
                        check(&r);
                drain(local[0], &reader);
                r.out_len = 0;
        }
        relay_done(&r);
        message_reader_done(&reader);
        for (int i = 0; i < 3; i++)
                close(mine[i]);
        close(local[0]);
        close(local[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        int status = -1;
        signal(SIGPIPE, SIG_IGN); /* as in its thread */
        long head = stream_answer((const char *)data, size, &status);
        must(head <= (long)size && (head <= 0 || (status >= 0 && status <= 999)));
        check_stream(head > 0 ? data + head : data, head > 0 ? size - (size_t)head : size);
        return 0;
}
