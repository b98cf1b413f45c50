/* egress/connection.c -- see connection.h. */
#include "egress/connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/hello.h"
#include "egress/sockaddr.h"
#include "sys/file.h"
#include "sys/socket.h"

uint8_t scratch[SCRATCH_SIZE];

void connection_text(const struct destination *to, char ret[288])
{
        char address[46];

        if (to->name[0] != '\0') {
                snprintf(ret, 288, "%s:%u", to->name, to->port);
                return;
        }
        address_write(&to->address, address);
        snprintf(ret, 288, strchr(address, ':') != NULL ? "[%s]:%u" : "%s:%u", address, to->port);
}

/* ---- stages ---- */

void egress_connection_enter(struct connection *c, enum stage stage, int64_t time)
{
        c->stage = stage;
        c->touched = loop_now();
        c->deadline = time > 0 ? c->touched + time : 0;
        timer_set(&c->timer,
                  time > 0 ? c->deadline : c->touched + (int64_t)policy_idle_ms(c->sandbox->policy) * 1000);
}

static void on_timer(struct timer *timer)
{
        struct connection *c = list_entry(timer, struct connection, timer);
        int64_t idle = c->touched + (int64_t)policy_idle_ms(c->sandbox->policy) * 1000;

        switch (c->stage) {
        case STAGE_SNIFF:
        case STAGE_HEAD:
                refuse(c, false, &c->original, "sent nothing that identifies its protocol within 10 s");
                break;
        case STAGE_RESOLVE:
                refuse_unreachable(c, "its name could not be resolved in time");
                break;
        case STAGE_DIAL:
                if (loop_now() >= c->deadline)
                        refuse_unreachable(c, "it did not answer in time");
                else
                        dial_run(c); /* try the next address */
                break;
        case STAGE_RELAY:
        case STAGE_EXCHANGE:
        case STAGE_DNS:
                if (loop_now() < idle)
                        timer_set(timer, idle);
                else
                        connection_close(c, true);
                break;
        case STAGE_LINGER:
                connection_close(c, false);
        }
}

/* ---- the end ---- */

void connection_close_upstream(struct connection *c)
{
        loop_close(&c->upstream.source);
        relay_drop(c, &c->up);
        relay_drop(c, &c->down);
        c->upstream = (struct end){.source = {-1, c->upstream.source.ready}};
}

static void reset_on_close(int fd)
{
        const struct linger at_once = {.l_onoff = 1};

        if (fd >= 0)
                sys_setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
}

void connection_close(struct connection *c, bool reset)
{
        if (reset) {
                reset_on_close(c->client.source.fd);
                reset_on_close(c->upstream.source.fd);
        }
        resolver_cancel(&c->wait);
        dns_stub_forget(&c->dns);
        connection_close_upstream(c);
        loop_close(&c->client.source);
        fd_budget_give(2);
        timer_stop(&c->timer);
        work_cancel(&c->work);
        list_remove(&c->entry);
        c->sandbox->n_connections--;
        free(c->head);
        c->head = NULL;
        loop_free(&c->grave, c);
}

/* Checks the addresses that the connection uses or may use next. */
static const char *refuses_addresses(const struct connection *c, char text[128])
{
        const char *why = NULL;

        if (c->upstream.source.fd >= 0)
                why = policy_refuses_address(c->sandbox->policy, &c->to, &c->dialled, text);
        for (unsigned i = 0; c->stage == STAGE_DIAL && i < c->n_addresses && why == NULL; i++)
                why = policy_refuses_address(c->sandbox->policy, &c->to, &c->addresses[i], text);
        return why;
}

static void connection_check(struct connection *c)
{
        char text[128];
        const char *why;

        switch (c->stage) {
        case STAGE_RESOLVE:
        case STAGE_DIAL:
        case STAGE_RELAY:
        case STAGE_EXCHANGE:
                break;
        case STAGE_SNIFF:
                if (c->in_tunnel) /* already connected */
                        break;
                return;
        default:
                return;
        }
        why = policy_refuses(c->sandbox->policy, c->kind, &c->to);
        if (why == NULL)
                why = refuses_addresses(c, text);
        if (why == NULL)
                return;
        if (c->stage == STAGE_EXCHANGE || c->stage == STAGE_RELAY)
                c->speech = SPEECH_RAW; /* data was exchanged: we cannot insert an answer */
        refuse(c, false, &c->to, why);
}

void connections_check(struct egress_sandbox *s)
{
        list_each (at, &s->connections, after) {
                connection_check(list_entry(at, struct connection, entry));
        }
}

void connections_queue(struct egress_sandbox *s)
{
        list_each (at, &s->connections, after) {
                work_queue(&s->lane, &list_entry(at, struct connection, entry)->work);
        }
}

void connections_close(struct egress_sandbox *s)
{
        list_each (at, &s->connections, after) {
                connection_close(list_entry(at, struct connection, entry), true);
        }
}

/* ---- protocol detection ---- */

long connection_peek(struct connection *c)
{
        long n = sys_recv(c->client.source.fd, scratch, sizeof(scratch), MSG_PEEK);

        if (n > 0)
                c->looked_at += (uint64_t)n;
        return n;
}

int connection_discard(struct connection *c, size_t n)
{
        return sys_recv(c->client.source.fd, scratch, n, MSG_TRUNC) == (long)n ? 0 : -EPROTO;
}

static bool egress_connection_is_same(const struct destination *a, const struct destination *b)
{
        return a->port == b->port && strcmp(a->name, b->name) == 0 &&
               (a->name[0] != '\0' || memcmp(&a->address, &b->address, sizeof(a->address)) == 0);
}

void connection_decide(struct connection *c)
{
        struct destination to = c->to;
        const char *why = policy_refuses(c->sandbox->policy, c->kind, &c->to);

        if (why != NULL) {
                refuse(c, false, &to, why);
        } else if (egress_sandbox_bytes_left(c->sandbox) == 0) {
                refuse(c, true, &to, "no more bytes are allowed");
        } else if (c->in_tunnel && c->upstream.source.fd >= 0 &&
                   egress_connection_is_same(&c->to, &c->original)) {
                if (c->speech == SPEECH_HTTP) {
                        http_begin(c);
                } else {
                        egress_connection_enter(c, STAGE_RELAY, 0);
                        work_queue(&c->sandbox->lane, &c->work);
                }
        } else {
                connection_close_upstream(c);
                dial(c);
        }
}

/* Decides by the address, because the data contains no name. */
static void decide_raw(struct connection *c, enum policy_kind kind)
{
        c->speech = SPEECH_RAW;
        c->kind = kind;
        c->to = c->original;
        if (c->is_unknown)
                refuse(c, false, &c->original,
                       "an address that was not returned by a lookup of this sandbox");
        else
                connection_decide(c);
}

static bool sniff_tls(struct connection *c, size_t n)
{
        char name[NAME_MAX_BYTES];
        int r = hello_read(scratch, n, name);

        c->speech = SPEECH_TLS;
        switch (r) {
        case 1:
                c->to = (struct destination){.port = c->original.port};
                memcpy(c->to.name, name, sizeof(name));
                c->kind = POLICY_SPOKEN;
                connection_decide(c);
                break;
        case 0:
                if (c->client.hung_up)
                        connection_close(c, false);
                else if (c->looked_at > CONNECTION_LOOKED_MAX)
                        refuse(c, false, &c->original, "a TLS ClientHello in too many pieces");
                return false;
        case -ENOENT:
                /* A client that connects to an address sends no name. */
                decide_raw(c, c->original.name[0] == '\0' ? POLICY_SPOKEN : POLICY_RAW);
                break;
        case -EPROTO:
                decide_raw(c, POLICY_RAW);
                break;
        case -EMSGSIZE:
                refuse(c, false, &c->original, "a TLS ClientHello that is too long");
                break;
        default:
                refuse(c, false, &c->original, "a TLS ClientHello with an invalid server name");
        }
        return false;
}

static bool sniff(struct connection *c)
{
        long n = connection_peek(c);

        if (n == -EAGAIN)
                return false;
        if (n <= 0) {
                connection_close(c, n < 0);
                return false;
        }
        if (scratch[0] == 0x16 && (!c->is_proxy || c->in_tunnel))
                return sniff_tls(c, (size_t)n);
        if (http1_looks_like((const char *)scratch, (size_t)n)) {
                c->speech = SPEECH_HTTP;
                c->body = (struct http1){0};
                c->stage = STAGE_HEAD; /* the deadline stays the same */
                return http_read_head(c);
        }
        if (c->is_proxy && !c->in_tunnel)
                refuse(c, false, &c->original, "a connection to the proxy that does not use HTTP");
        else
                decide_raw(c, POLICY_RAW);
        return false;
}

static bool egress_connection_run(struct work *work)
{
        struct connection *c = list_entry(work, struct connection, work);

        switch (c->stage) {
        case STAGE_SNIFF:
                return sniff(c);
        case STAGE_HEAD:
                return http_read_head(c);
        case STAGE_RESOLVE:
                return false;
        case STAGE_DIAL:
                return c->upstream.writable && dial_run(c);
        case STAGE_RELAY:
                return egress_relay_run(c);
        case STAGE_EXCHANGE:
                return http_exchange(c);
        case STAGE_LINGER:
                return refuse_linger_run(c);
        case STAGE_DNS:
                return dns_stream_run(c);
        }
        return false;
}

/* ---- events ---- */

static void egress_connection_note(struct end *end, uint32_t events)
{
        if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
                end->readable = true;
        if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
                end->writable = true;
        if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
                end->hung_up = true;
}

static void on_client(struct source *source, uint32_t events)
{
        struct connection *c = list_entry(source, struct connection, client.source);

        egress_connection_note(&c->client, events);
        /* the client is gone */
        if ((c->stage == STAGE_RESOLVE || c->stage == STAGE_DIAL) && events & (EPOLLHUP | EPOLLERR))
                connection_close(c, true);
        else
                work_queue(&c->sandbox->lane, &c->work);
}

static void on_upstream(struct source *source, uint32_t events)
{
        struct connection *c = list_entry(source, struct connection, upstream.source);

        egress_connection_note(&c->upstream, events);
        work_queue(&c->sandbox->lane, &c->work);
}

/* ---- start ---- */

static void on_resolved(struct resolver_wait *wait, const struct resolved *resolved)
{
        dial_resolved(list_entry(wait, struct connection, wait), resolved);
}

/* Returns the original destination: the sandbox's rules do not translate addresses, so it is the local
 * address (wire/egress.h).  -EINVAL: loopback, which can only be the listener itself. */
static int read_original(int fd, struct destination *ret)
{
        static const struct address loopback = {{[15] = 1}}, loopback4 = {{[10] = 0xff, 0xff, 127}};
        union sockaddr_any address;
        socklen_t size = sizeof(address);
        int r = sys_getsockname(fd, &address, &size);

        *ret = (struct destination){0};
        if (r < 0)
                return r;
        ret->port = sockaddr_read(&address, &ret->address);
        if (ret->port == 0 || address_in(&ret->address, &loopback4, 96 + 8) ||
            address_in(&ret->address, &loopback, 128))
                return -EINVAL;
        return 0;
}

static void egress_connection_drop(struct egress_sandbox *s, int fd, bool limit, const struct destination *to,
                                   const char *why)
{
        char target[288];

        connection_text(to, target);
        egress_sandbox_refused(s, limit, target, why);
        reset_on_close(fd);
        sys_close(fd);
}

static struct connection *connection_new(struct egress_sandbox *s)
{
        struct connection *c = calloc(1, sizeof(*c));

        if (c == NULL)
                return NULL;
        c->sandbox = s;
        c->client.source = (struct source){-1, on_client};
        c->upstream.source = (struct source){-1, on_upstream};
        work_init(&c->work, egress_connection_run);
        timer_init(&c->timer, on_timer);
        resolver_wait_init(&c->wait, on_resolved);
        dns_stream_init(c);
        list_add(&s->connections, &c->entry);
        s->n_connections++;
        return c;
}

/* Selects the first stage by the destination. */
static void egress_connection_begin(struct connection *c, enum synthetic_kind kind)
{
        struct egress_sandbox *s = c->sandbox;
        uint16_t port = c->original.port;

        c->is_unknown = kind == SYNTHETIC_OTHER || kind == SYNTHETIC_PROXY;
        c->is_proxy = kind == SYNTHETIC_PROXY && port == EGRESS_PROXY_PORT;
        if (port == 53) {
                egress_connection_enter(c, STAGE_DNS, 0);
        } else if (c->is_proxy || port == 80 || port == 443) {
                egress_connection_enter(c, STAGE_SNIFF, CONNECTION_SETUP_US);
        } else {
                egress_connection_enter(c, STAGE_SNIFF, CONNECTION_SETUP_US);
                decide_raw(c, POLICY_RAW);
                return;
        }
        work_queue(&s->lane, &c->work); /* data may have arrived already */
}

void connection_accept(struct egress_sandbox *s, int fd)
{
        struct destination original;
        enum synthetic_kind kind;
        struct connection *c;
        const char *name;

        if (read_original(fd, &original) < 0) {
                egress_connection_drop(s, fd, false, &original, "connected to the listener itself");
                return;
        }
        kind = synthetic_find(s->names, &original.address, &name);
        if (kind == SYNTHETIC_NAME)
                memcpy(original.name, name, strlen(name) + 1);
        if (s->n_connections >= policy_connections_max(s->policy)) {
                egress_connection_drop(s, fd, true, &original, "too many connections at once");
                return;
        }
        if (!fd_budget_take(2)) {
                egress_connection_drop(s, fd, true, &original, "too many connections of all sandboxes");
                return;
        }
        c = connection_new(s);
        if (c == NULL) {
                fd_budget_give(2);
                egress_connection_drop(s, fd, true, &original, "no memory");
                return;
        }
        c->original = original;
        sys_set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
        if (loop_add(&c->client.source, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) < 0) {
                sys_close(fd);
                connection_close(c, true);
                return;
        }
        egress_connection_begin(c, kind);
}
