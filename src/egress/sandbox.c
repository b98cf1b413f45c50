/* egress/sandbox.c -- see sandbox.h. */
#include "egress/sandbox.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "egress/fd_budget.h"
#include "egress/policy/hash.h"
#include "sys/file.h"
#include "sys/socket.h"

#define BUCKETS 1024u
#define ACCEPT_MAX 4u      /* per turn */
#define RETRY_US 100000    /* after descriptors ran out */
#define SETTLE_WORKS 1024u /* work that arrived before EGRESS_COUNT */

static const struct egress_sandbox_ops *ops;
static struct list buckets[BUCKETS];
static unsigned n_sandboxes;

void sandboxes_init(const struct egress_sandbox_ops *given)
{
        ops = given;
        for (unsigned i = 0; i < BUCKETS; i++)
                list_init(&buckets[i]);
}

static struct list *bucket_of(uint64_t id)
{
        return &buckets[(id * 0x9e3779b97f4a7c15u >> 32) % BUCKETS];
}

struct egress_sandbox *egress_sandbox_find(uint64_t id)
{
        list_each (at, bucket_of(id), after) {
                struct egress_sandbox *s = list_entry(at, struct egress_sandbox, others);

                if (s->id == id)
                        return s;
        }
        return NULL;
}

/* ---- incoming connections ---- */

/* Call before anything is taken from the sockets. */
static void mark_used(struct egress_sandbox *s)
{
        if (!s->is_used)
                sys_set_option(s->listener.fd, SOL_SOCKET, SO_PRIORITY, EGRESS_USED);
        s->is_used = true;
}

static bool run_accept(struct work *work)
{
        struct egress_sandbox *s = list_entry(work, struct egress_sandbox, accept);

        for (unsigned i = 0; i < ACCEPT_MAX; i++) {
                int fd = sys_accept(s->listener.fd);

                if (fd == -EAGAIN)
                        return false;
                if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || fd == -ENOBUFS) {
                        timer_set(&s->retry, loop_now() + RETRY_US);
                        return false;
                }
                if (fd >= 0)
                        ops->accept(s, fd);
        }
        return true;
}

static void on_listener(struct source *source, uint32_t events)
{
        struct egress_sandbox *s = list_entry(source, struct egress_sandbox, listener);

        (void)events;
        mark_used(s);
        work_queue(&s->lane, &s->accept);
}

static void on_retry(struct timer *timer)
{
        struct egress_sandbox *s = list_entry(timer, struct egress_sandbox, retry);

        work_queue(&s->lane, &s->accept);
}

static bool run_answer(struct work *work)
{
        return ops->answer(list_entry(work, struct egress_sandbox, answer));
}

static void on_dns(struct source *source, uint32_t events)
{
        struct egress_sandbox *s = list_entry(source, struct egress_sandbox, dns);

        (void)events;
        mark_used(s);
        work_queue(&s->lane, &s->answer);
}

/* ---- start and end ---- */

static bool is_socket(int fd, int type, bool listens, bool *ret_v6)
{
        int domain = 0, is_type = 0, is_listening = 0;

        if (sys_get_option(fd, SOL_SOCKET, SO_DOMAIN, &domain) < 0 ||
            sys_get_option(fd, SOL_SOCKET, SO_TYPE, &is_type) < 0 ||
            sys_get_option(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening) < 0)
                return false;
        *ret_v6 = domain == AF_INET6;
        return (domain == AF_INET || domain == AF_INET6) && is_type == type && is_listening == listens;
}

static int egress_sandbox_prepare(struct egress_sandbox *s, int listener, int dns)
{
        int r;

        if (!is_socket(listener, SOCK_STREAM, true, &s->has_v6) ||
            !is_socket(dns, SOCK_DGRAM, false, &s->dns_v6))
                return -EINVAL;
        r = sys_set_nonblock(listener);
        if (r < 0)
                return r;
        /* A reply must be sent from the address that the query was sent to. */
        return s->dns_v6 ? sys_set_option(dns, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
                         : sys_set_option(dns, IPPROTO_IP, IP_PKTINFO, 1);
}

int egress_sandbox_attach(uint64_t id, struct policy *policy, int listener, int dns)
{
        struct egress_sandbox *s = NULL;
        int r = egress_sandbox_find(id) != NULL ? -EEXIST : n_sandboxes >= EGRESS_SANDBOXES_MAX ? -ENOSPC : 0;

        if (r == 0) {
                s = calloc(1, sizeof(*s));
                r = s == NULL ? -ENOMEM : egress_sandbox_prepare(s, listener, dns);
        }
        if (r < 0) {
                free(s);
                policy_drop(policy);
                sys_close(listener);
                sys_close(dns);
                return r;
        }
        s->id = id;
        s->policy = policy;
        s->listener = (struct source){-1, on_listener};
        s->dns = (struct source){-1, on_dns};
        lane_init(&s->lane);
        work_init(&s->accept, run_accept);
        work_init(&s->answer, run_answer);
        timer_init(&s->retry, on_retry);
        list_init(&s->connections);
        list_init(&s->questions);
        list_add(bucket_of(id), &s->others);
        n_sandboxes++;
        fd_budget_attached(1);
        r = loop_add(&s->listener, listener, EPOLLIN | EPOLLET);
        if (r < 0)
                sys_close(listener);
        if (r == 0)
                r = loop_add(&s->dns, dns, EPOLLIN | EPOLLET);
        if (s->dns.fd < 0)
                sys_close(dns);
        if (r < 0)
                egress_sandbox_detach(s);
        return r;
}

void egress_sandbox_detach(struct egress_sandbox *s)
{
        ops->close_connections(s);
        ops->drop_questions(s);
        loop_close(&s->listener);
        loop_close(&s->dns);
        work_cancel(&s->accept);
        work_cancel(&s->answer);
        timer_stop(&s->retry);
        lane_done(&s->lane);
        synthetic_free(s->names);
        policy_drop(s->policy);
        list_remove(&s->others);
        n_sandboxes--;
        fd_budget_attached(-1);
        loop_free(&s->grave, s);
}

void egress_sandbox_change(struct egress_sandbox *s, struct policy *policy)
{
        policy_drop(s->policy);
        s->policy = policy;
        ops->check_connections(s);
}

void egress_sandbox_begin(struct egress_sandbox *s)
{
        memset(&s->counted, 0, sizeof(s->counted));
        s->n_reported = 0;
}

void egress_sandbox_settle(struct egress_sandbox *s)
{
        mark_used(s);
        work_queue(&s->lane, &s->accept);
        work_queue(&s->lane, &s->answer);
        ops->queue_connections(s);
        lane_run(&s->lane, SETTLE_WORKS);
}

/* ---- counters and refusals ---- */

uint64_t egress_sandbox_bytes_left(const struct egress_sandbox *s)
{
        uint64_t most = policy_bytes_max(s->policy), used = s->counted.bytes_sent + s->counted.bytes_received;

        if (most == 0)
                return UINT64_MAX;
        return used < most ? most - used : 0;
}

/* Replaces unprintable characters in text that sandboxed code has chosen. */
static void copy_printable(char *to, size_t size, const char *from)
{
        size_t i;

        for (i = 0; i + 1 < size && from[i] != '\0'; i++) {
                to[i] = from[i];
                if (from[i] < ' ' || from[i] >= 0x7f)
                        to[i] = '?';
        }
        to[i] = '\0';
}

void egress_sandbox_refused(struct egress_sandbox *s, bool limit, const char *target, const char *detail)
{
        struct egress_refused refused = {.type = EGRESS_REFUSED, .limit = limit, .sandbox = s->id};
        uint64_t hash = HASH_BEGIN + limit;

        s->counted.refused++;
        copy_printable(refused.target, sizeof(refused.target), target);
        copy_printable(refused.detail, sizeof(refused.detail), detail);
        hash = hash_text(hash_text(hash, refused.target), refused.detail);
        for (unsigned i = 0; i < s->n_reported; i++)
                if (s->reported[i] == hash)
                        return;
        if (s->n_reported == EGRESS_REPORTED_MAX)
                return;
        s->reported[s->n_reported++] = hash;
        ops->report(&refused, sizeof(refused));
}
