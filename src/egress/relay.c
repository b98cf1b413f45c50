/* egress/relay.c -- forwards bytes between two sockets through a pipe without examining them.
 *
 * A pipe is only used while it contains data: it is usually emptied at once, so few pipes are enough for
 * thousands of connections.  If none is available, bytes are peeked, sent, and removed as far as they were
 * sent, which needs no memory either. */
#include <errno.h>
#include <fcntl.h>

#include "egress/connection.h"
#include "sys/socket.h"

#define QUANTUM 1048576u /* bytes per turn: 0.1 ms */

void relay_drop(struct connection *c, struct flow *flow)
{
        if (flow->pipe != NULL) {
                fd_budget_pipe_back(flow->pipe, flow->held == 0);
                c->sandbox->n_pipes--;
        }
        *flow = (struct flow){0};
}

static bool borrow(struct connection *c, struct flow *flow)
{
        if (flow->pipe == NULL && c->sandbox->n_pipes < SANDBOX_PIPES_MAX) {
                flow->pipe = fd_budget_pipe();
                c->sandbox->n_pipes += flow->pipe != NULL;
        }
        return flow->pipe != NULL;
}

static void give_back(struct connection *c, struct flow *flow)
{
        bool broken = flow->broken;

        relay_drop(c, flow);
        flow->broken = broken;
}

/* Splices into the pipe.  Returns the number of bytes, 0 at the end, or -errno. */
static long take_in(struct end *from, struct flow *flow, size_t most)
{
        long n = sys_splice(from->source.fd, flow->pipe->ends[1], most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

        if (n > 0)
                flow->held = (size_t)n;
        return n;
}

/* Forwards without a pipe.  Returns the number of bytes sent, 0 at the end, or -errno. */
static long pass_on(struct end *from, struct end *to, struct flow *flow, size_t most)
{
        long n = sys_recv(from->source.fd, scratch, most < SCRATCH_SIZE ? most : SCRATCH_SIZE, MSG_PEEK),
             sent;

        if (n <= 0)
                return n;
        sent = sys_send(to->source.fd, scratch, (size_t)n, 0);
        if (sent == -EAGAIN) {
                to->writable = false;
                return -ENOBUFS;
        }
        if (sent < 0) {
                flow->broken = true;
                return sent;
        }
        return sys_recv(from->source.fd, scratch, (size_t)sent, MSG_TRUNC) == sent ? sent : -EPROTO;
}

/* Reads if possible.  Returns 1: data was moved; 0: not now; or -errno. */
static int read_side(struct connection *c, struct end *from, struct end *to, struct flow *flow,
                     uint64_t *counter, size_t *quantum)
{
        uint64_t left = egress_sandbox_bytes_left(c->sandbox);
        size_t most = left < *quantum ? (size_t)left : *quantum;
        bool piped;
        uint8_t byte;
        long n;

        if (!from->readable || !to->writable)
                return 0;
        if (left == 0) { /* is there data above the limit? */
                n = sys_recv(from->source.fd, &byte, 1, MSG_PEEK);
                if (n > 0)
                        return -EDQUOT;
        } else {
                piped = borrow(c, flow);
                n = piped ? take_in(from, flow, most) : pass_on(from, to, flow, most);
        }
        if (n == -EAGAIN)
                from->readable = false;
        if (n == -EAGAIN || n == -ENOBUFS)
                return 0;
        if (n < 0)
                return (int)n;
        if (n == 0)
                from->ended = true;
        *counter += (uint64_t)n;
        *quantum -= (size_t)n;
        c->touched = loop_now();
        return 1;
}

/* Same for writing. */
static int write_side(struct connection *c, struct end *to, struct flow *flow)
{
        long n;

        if (!to->writable)
                return 0;
        n = sys_splice(flow->pipe->ends[0], to->source.fd, flow->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (n == -EAGAIN) {
                to->writable = false;
                return 0;
        }
        if (n <= 0) {
                flow->broken = true;
                return n < 0 ? (int)n : -EPIPE;
        }
        flow->held -= (size_t)n;
        c->touched = loop_now();
        return 1;
}

int relay_flow(struct connection *c, struct end *from, struct end *to, struct flow *flow, uint64_t *counter)
{
        size_t quantum = QUANTUM;
        int r = 1;

        if (to->shut || flow->broken)
                return RELAY_QUIET;
        while (r > 0 && (quantum > 0 || flow->held > 0)) {
                if (flow->held > 0)
                        r = write_side(c, to, flow);
                else if (from->ended)
                        break;
                else
                        r = read_side(c, from, to, flow, counter, &quantum);
        }
        if (r < 0)
                return r;
        if (flow->held > 0)
                return RELAY_QUIET;
        give_back(c, flow);
        if (from->ended) {
                sys_shutdown(to->source.fd, SHUT_WR);
                to->shut = true;
                return RELAY_ENDED;
        }
        return quantum == 0 ? RELAY_MORE : RELAY_QUIET;
}

void relay_failed(struct connection *c, int r)
{
        char target[288];

        if (r == -EDQUOT) {
                connection_text(&c->to, target);
                egress_sandbox_refused(c->sandbox, true, target, "no more bytes are allowed");
        }
        connection_close(c, true);
}

bool egress_relay_run(struct connection *c)
{
        struct egress_counted *counted = &c->sandbox->counted;
        int down = relay_flow(c, &c->upstream, &c->client, &c->down, &counted->bytes_received);
        int up = relay_flow(c, &c->client, &c->upstream, &c->up, &counted->bytes_sent);

        /* A server that has sent everything and closes may not accept further data: its data is delivered
         * first. */
        if (up < 0 && up != -EDQUOT && c->up.broken && down != RELAY_ENDED && !c->client.shut)
                up = RELAY_QUIET;
        if (down < 0 || up < 0) {
                relay_failed(c, down < 0 ? down : up);
                return false;
        }
        if (c->client.shut && (c->upstream.shut || c->up.broken)) {
                connection_close(c, c->up.broken);
                return false;
        }
        return down == RELAY_MORE || up == RELAY_MORE;
}
