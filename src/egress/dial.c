/* egress/dial.c -- connects to the destination that was allowed: resolves the name, checks each address,
 * and connects to one of these addresses.  If a single address is refused, the name is refused: otherwise
 * the owner of the name could choose one. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "egress/connection.h"
#include "egress/sockaddr.h"
#include "sys/file.h"
#include "sys/socket.h"

#define ATTEMPT_LEAST_US 2000000 /* per address, if there are several */

static void connected(struct connection *c)
{
        static const char established[] = "HTTP/1.1 200 Connection established\r\n\r\n";
        int fd = c->upstream.source.fd;

        sys_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
        c->sandbox->counted.connections++;
        if (c->is_connect) {
                c->is_connect = false;
                c->in_tunnel = true;
                c->original = c->to;
                c->is_unknown = false;
                c->looked_at = 0;
                sys_send(c->client.source.fd, established, sizeof(established) - 1, 0);
                if (c->kind == POLICY_RAW) {
                        c->speech = SPEECH_RAW;
                        egress_connection_enter(c, STAGE_RELAY, 0);
                } else {
                        c->speech = SPEECH_NONE;
                        egress_connection_enter(c, STAGE_SNIFF, CONNECTION_SETUP_US);
                }
        } else if (c->speech == SPEECH_HTTP) {
                http_begin(c);
        } else {
                egress_connection_enter(c, STAGE_RELAY, 0);
        }
        c->client.readable = c->client.writable = true; /* unknown yet */
        work_queue(&c->sandbox->lane, &c->work);
}

static int try_address(struct connection *c, const struct address *address)
{
        union sockaddr_any to;
        size_t size = sockaddr_write(address, c->to.port, &to);
        int fd = sys_socket(to.any.sa_family, SOCK_STREAM), r;

        if (fd < 0)
                return fd;
        r = sys_connect(fd, &to, size);
        if (r == 0 || r == -EINPROGRESS)
                r = loop_add(&c->upstream.source, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
        if (r < 0)
                sys_close(fd);
        else
                c->dialled = *address;
        return r;
}

/* Tries the next address; last: error of the previous one. */
static void dial_next(struct connection *c, int last)
{
        while (c->n_tried < c->n_addresses) {
                unsigned left = c->n_addresses - c->n_tried;
                int64_t time = (c->deadline - loop_now()) / left;

                last = try_address(c, &c->addresses[c->n_tried++]);
                if (last < 0)
                        continue;
                if (time < ATTEMPT_LEAST_US)
                        time = ATTEMPT_LEAST_US;
                if (loop_now() + time > c->deadline || left == 1)
                        time = c->deadline - loop_now();
                timer_set(&c->timer, loop_now() + time);
                return;
        }
        refuse_unreachable(c, strerror(-last));
}

/* An attempt has ended or timed out. */
bool dial_run(struct connection *c)
{
        int error = ETIMEDOUT;

        if (c->upstream.writable && sys_get_option(c->upstream.source.fd, SOL_SOCKET, SO_ERROR, &error) < 0)
                error = EIO;
        if (error == 0) {
                connected(c);
                return false; /* it is queued again */
        }
        connection_close_upstream(c);
        dial_next(c, -error);
        return false;
}

static void dial_start(struct connection *c, const struct address *addresses, size_t n)
{
        char text[128];

        for (size_t i = 0; i < n; i++) {
                if (policy_refuses_address(c->sandbox->policy, &c->to, &addresses[i], text) != NULL) {
                        refuse(c, false, &c->to, text);
                        return;
                }
        }
        memcpy(c->addresses, addresses, n * sizeof(*addresses));
        c->n_addresses = (unsigned)n;
        c->n_tried = 0;
        egress_connection_enter(c, STAGE_DIAL, CONNECTION_SETUP_US);
        dial_next(c, -EHOSTUNREACH);
}

void dial_resolved(struct connection *c, const struct resolved *resolved)
{
        /* The policy may have changed meanwhile; connections_check() has handled that. */
        if (resolved->code == DNS_OK && resolved->n > 0)
                dial_start(c, resolved->addresses, resolved->n);
        else
                refuse_unreachable(c, resolved->code == DNS_NXDOMAIN ? "there is no such name"
                                      : resolved->code == DNS_OK     ? "its name has no address"
                                                                     : "its name could not be resolved");
}

void dial(struct connection *c)
{
        struct resolved resolved;
        int r;

        if (c->to.name[0] == '\0') {
                dial_start(c, &c->to.address, 1);
                return;
        }
        r = resolver_ask(c->to.name, &c->wait, &resolved);
        if (r < 0)
                refuse_unreachable(c, "too many names are being resolved");
        else if (r > 0)
                dial_resolved(c, &resolved);
        else
                egress_connection_enter(c, STAGE_RESOLVE, CONNECTION_SETUP_US);
}
