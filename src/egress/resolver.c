/* egress/resolver.c -- see resolver.h. */
#include "egress/resolver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "egress/fd_budget.h"
#include "egress/loop.h"
#include "egress/servers.h"
#include "egress/sockaddr.h"
#include "sys/socket.h"

#define LOOKUPS_MAX 512u
#define TRY_US 1500000 /* then the next server, or the same again */
#define TRIES_MAX 5u
#define OTHER_US 300000   /* maximum delay of the second address type after the first */
#define PARTIAL_TTL 10u   /* of an answer without the second address type */
#define NEGATIVE_TTL 300u /* maximum, for a missing name */
#define STREAM_MAX 16384u /* length of a reply by TCP */
#define PACKETS_MAX 16u   /* per call */

enum how { BY_UDP, BY_TCP, SENT_BY_TCP };

struct part {
        uint16_t type, id;
        uint8_t done, failed;
        enum how how;
        struct dns_answer answer; /* valid if done */
};

struct lookup {
        struct list entry;
        struct grave grave;
        char name[NAME_MAX_BYTES];
        struct list waits;
        unsigned tries;
        struct part parts[2];
        struct source udp, tcp;
        bool connected; /* by TCP */
        struct timer timer;
};

static struct list lookups;
static unsigned n_lookups;

void resolver_init(void)
{
        list_init(&lookups);
}

void resolver_wait_init(struct resolver_wait *wait,
                        void (*done)(struct resolver_wait *wait, const struct resolved *resolved))
{
        list_init(&wait->entry);
        wait->done = done;
}

void resolver_cancel(struct resolver_wait *wait)
{
        list_remove(&wait->entry);
}

/* ---- end ---- */

static void close_one(struct source *source)
{
        if (source->fd >= 0)
                fd_budget_give(1);
        loop_close(source);
}

/* IPv4 addresses come first. */
static void add_part(const struct part *part, struct resolved *ret, uint32_t *ttl)
{
        if (!part->done || part->answer.n == 0)
                return;
        for (size_t i = 0; i < part->answer.n && ret->n < DNS_ADDRESSES_MAX; i++)
                ret->addresses[ret->n++] = part->answer.addresses[i];
        if (part->answer.ttl < *ttl)
                *ttl = part->answer.ttl;
}

/* Combines both replies.  Returns the TTL in seconds; 0: do not cache. */
static uint32_t resolver_conclude(const struct lookup *l, struct resolved *ret)
{
        const struct part *a = &l->parts[0], *b = &l->parts[1];
        uint32_t ttl = CACHE_MOST_S;

        *ret = (struct resolved){.code = DNS_OK};
        add_part(a, ret, &ttl);
        add_part(b, ret, &ttl);
        if (ret->n > 0)
                return a->done && b->done ? (ttl > 0 ? ttl : 1) : (ttl < PARTIAL_TTL ? ttl + 1 : PARTIAL_TTL);
        for (unsigned i = 0; i < 2; i++)
                if (l->parts[i].done && l->parts[i].answer.ttl < ttl)
                        ttl = l->parts[i].answer.ttl;
        ttl = ttl < NEGATIVE_TTL ? ttl + 1 : NEGATIVE_TTL;
        /* NXDOMAIN applies to all types. */
        if ((a->done && a->answer.code == DNS_NXDOMAIN) || (b->done && b->answer.code == DNS_NXDOMAIN))
                ret->code = DNS_NXDOMAIN;
        else if (!a->done || !b->done)
                ret->code = DNS_SERVFAIL;
        return ret->code == DNS_SERVFAIL ? 0 : ttl;
}

static void resolver_finish(struct lookup *l)
{
        struct resolved resolved;
        uint32_t ttl = resolver_conclude(l, &resolved);

        if (ttl > 0)
                cache_keep(l->name, &resolved, ttl, loop_now());
        timer_stop(&l->timer);
        close_one(&l->udp);
        close_one(&l->tcp);
        list_remove(&l->entry);
        n_lookups--;
        while (!list_empty(&l->waits)) { /* a callback may cancel others */
                struct resolver_wait *wait = list_entry(l->waits.next, struct resolver_wait, entry);

                list_remove(&wait->entry);
                wait->done(wait, &resolved);
        }
        loop_free(&l->grave, l);
}

/* ---- queries ---- */

static uint16_t random_id(void)
{
        static uint16_t ids[64];
        static size_t left;

        if (left == 0) {
                if (sys_call3(SYS_getrandom, ids, sizeof(ids), 0) != sizeof(ids))
                        abort();
                left = ARRAY_LEN(ids);
        }
        return ids[--left];
}

static const struct address *server_of(const struct lookup *l)
{
        return servers_get(l->tries % servers_count());
}

static int open_socket(struct lookup *l, struct source *source, int type, uint32_t events)
{
        union sockaddr_any to;
        size_t size = sockaddr_write(server_of(l), 53, &to);
        int fd, r;

        if (!fd_budget_take(1))
                return -EMFILE;
        fd = sys_socket(to.any.sa_family, type);
        r = fd;
        if (fd >= 0)
                r = sys_connect(fd, &to, size);
        if (r == 0 || r == -EINPROGRESS)
                r = loop_add(source, fd, events | EPOLLET);
        if (r < 0) {
                if (fd >= 0)
                        sys_call1(SYS_close, fd);
                fd_budget_give(1);
        }
        return r;
}

static void set_timer(struct lookup *l, int64_t after)
{
        timer_set(&l->timer, loop_now() + after);
}

static int ask_by_udp(struct lookup *l)
{
        uint8_t message[DNS_MESSAGE_MAX];
        int r = open_socket(l, &l->udp, SOCK_DGRAM, EPOLLIN);

        for (unsigned i = 0; i < 2 && r == 0; i++) {
                struct part *part = &l->parts[i];
                size_t length;

                if (part->done)
                        continue;
                part->failed = 0;
                part->how = BY_UDP;
                part->id = random_id();
                length = dns_write_question(part->id, l->name, part->type, message);
                if (sys_send(l->udp.fd, message, length, 0) < 0)
                        r = -EIO;
        }
        return r;
}

/* Sends the queries to the next server that accepts them. */
static void resolver_send_question(struct lookup *l)
{
        for (; l->tries < TRIES_MAX; l->tries++) {
                close_one(&l->udp);
                close_one(&l->tcp);
                l->connected = false;
                if (ask_by_udp(l) == 0) {
                        set_timer(l, TRY_US);
                        return;
                }
        }
        resolver_finish(l);
}

static void ask_next(struct lookup *l)
{
        l->tries++;
        resolver_send_question(l);
}

/* Continues after a part was answered or has failed. */
static void proceed(struct lookup *l)
{
        const struct part *a = &l->parts[0], *b = &l->parts[1];

        if (a->done && b->done) {
                resolver_finish(l);
        } else if ((a->done || a->failed) && (b->done || b->failed)) {
                if (a->answer.n + b->answer.n > 0)
                        resolver_finish(l);
                else
                        ask_next(l);
        } else if ((a->done && a->answer.n > 0) || (b->done && b->answer.n > 0)) {
                int64_t at = loop_now() + OTHER_US;

                if (l->timer.at > at)
                        timer_set(&l->timer, at);
        }
}

static void on_timer(struct timer *timer)
{
        struct lookup *l = list_entry(timer, struct lookup, timer);

        if (l->parts[0].answer.n + l->parts[1].answer.n > 0)
                resolver_finish(l);
        else
                ask_next(l);
}

/* ---- replies ---- */

static void send_by_tcp(struct lookup *l)
{
        for (unsigned i = 0; i < 2; i++) {
                struct part *part = &l->parts[i];
                uint8_t message[2 + DNS_MESSAGE_MAX];
                size_t length;

                if (part->done || part->how != BY_TCP)
                        continue;
                part->id = random_id();
                length = dns_write_question(part->id, l->name, part->type, message + 2);
                message[0] = (uint8_t)(length >> 8);
                message[1] = (uint8_t)length;
                part->how = SENT_BY_TCP;
                if (sys_send(l->tcp.fd, message, length + 2, 0) != (long)length + 2)
                        part->failed = 1;
        }
}

static void ask_by_tcp(struct lookup *l, struct part *part)
{
        part->how = BY_TCP;
        if (l->connected)
                send_by_tcp(l);
        else if (l->tcp.fd < 0 && open_socket(l, &l->tcp, SOCK_STREAM, EPOLLIN | EPOLLOUT | EPOLLRDHUP) < 0)
                part->failed = 1;
}

/* Returns true if it was the reply to one of our queries.  Others are ignored. */
static bool resolver_take(struct lookup *l, const uint8_t *message, size_t length, bool by_tcp)
{
        for (unsigned i = 0; i < 2; i++) {
                struct part *part = &l->parts[i];
                struct dns_answer answer;

                if (part->done || part->failed || by_tcp != (part->how == SENT_BY_TCP) ||
                    dns_read_answer(message, length, part->id, l->name, part->type, &answer) < 0)
                        continue;
                if (answer.truncated && !by_tcp) {
                        ask_by_tcp(l, part);
                } else if (answer.code == DNS_OK || answer.code == DNS_NXDOMAIN) {
                        part->answer = answer;
                        part->done = 1;
                } else {
                        part->failed = 1;
                }
                return true;
        }
        return false;
}

static void on_udp(struct source *source, uint32_t events)
{
        struct lookup *l = list_entry(source, struct lookup, udp);
        uint8_t message[DNS_MESSAGE_MAX + 1];

        (void)events;
        for (unsigned i = 0; i < PACKETS_MAX; i++) {
                long n = sys_recv(source->fd, message, sizeof(message), 0);

                if (n == -EAGAIN)
                        break;
                if (n < 0) { /* the server cannot be reached */
                        ask_next(l);
                        return;
                }
                if (n <= DNS_MESSAGE_MAX)
                        resolver_take(l, message, (size_t)n, false);
        }
        proceed(l);
}

/* Only complete replies are removed from the socket; incomplete ones are peeked. */
static int read_by_tcp(struct lookup *l)
{
        static uint8_t message[2 + STREAM_MAX];

        for (unsigned i = 0; i < PACKETS_MAX; i++) {
                long n = sys_recv(l->tcp.fd, message, sizeof(message), MSG_PEEK);
                size_t length;

                if (n == -EAGAIN)
                        return 0;
                if (n <= 0)
                        return -EIO;
                length = n < 2 ? 0 : (size_t)message[0] << 8 | message[1];
                if (length > STREAM_MAX)
                        return -EMSGSIZE;
                if (n < 2 || (size_t)n < 2 + length)
                        return 0;
                sys_recv(l->tcp.fd, message, 2 + length, 0);
                resolver_take(l, message + 2, length, true);
        }
        return 0;
}

static void on_tcp(struct source *source, uint32_t events)
{
        struct lookup *l = list_entry(source, struct lookup, tcp);
        int r = 0;

        if (events & EPOLLOUT) {
                l->connected = true;
                send_by_tcp(l);
        }
        if (events & (EPOLLIN | EPOLLRDHUP | EPOLLERR | EPOLLHUP))
                r = read_by_tcp(l);
        /* A closed connection may have delivered only a part. */
        if (r < 0 || events & (EPOLLRDHUP | EPOLLERR | EPOLLHUP))
                for (unsigned i = 0; i < 2; i++)
                        l->parts[i].failed |= !l->parts[i].done && l->parts[i].how != BY_UDP;
        proceed(l);
}

/* ---- requests ---- */

static struct lookup *resolver_find(const char *name)
{
        list_each (at, &lookups, after) {
                struct lookup *l = list_entry(at, struct lookup, entry);

                if (strcmp(l->name, name) == 0)
                        return l;
        }
        return NULL;
}

static struct lookup *lookup_new(const char *name)
{
        struct lookup *l = n_lookups < LOOKUPS_MAX ? calloc(1, sizeof(*l)) : NULL;

        if (l == NULL)
                return NULL;
        memcpy(l->name, name, strlen(name) + 1);
        list_init(&l->waits);
        l->parts[0].type = DNS_A;
        l->parts[1].type = DNS_AAAA;
        l->udp = (struct source){-1, on_udp};
        l->tcp = (struct source){-1, on_tcp};
        timer_init(&l->timer, on_timer);
        list_add(&lookups, &l->entry);
        n_lookups++;
        return l;
}

int resolver_ask(const char *name, struct resolver_wait *wait, struct resolved *ret)
{
        struct lookup *l;

        if (hosts_find(name, ret) || cache_find(name, loop_now(), ret))
                return 1;
        l = resolver_find(name);
        if (l == NULL) {
                l = lookup_new(name);
                if (l == NULL)
                        return -EBUSY;
                resolver_send_question(l);
                if (list_empty(&l->entry)) { /* no server can be reached: already finished */
                        *ret = (struct resolved){.code = DNS_SERVFAIL};
                        return 1;
                }
        }
        list_add(&l->waits, &wait->entry);
        return 0;
}
