/* egress/dns_stub.c -- see dns_stub.h. */
#include "egress/dns_stub.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "egress/dns.h"
#include "egress/resolver.h"
#include "egress/sockaddr.h"
#include "sys/socket.h"

#define PACKETS_MAX 8u /* per turn */
#define TTL 60u        /* of a synthetic address, which is only valid in this sandbox */

struct question {
        struct list entry; /* in the sandbox */
        struct grave grave;
        struct egress_sandbox *sandbox;
        struct dns_client *client; /* by TCP; NULL: by UDP */
        struct resolver_wait wait;
        struct dns_question q;
        uint8_t message[DNS_MESSAGE_MAX];
        size_t length;
        union sockaddr_any from;
        socklen_t from_size;
        char control[CMSG_SPACE(
                sizeof(struct in6_pktinfo))]; /* destination address of the query, from the kernel */
        size_t control_size;
};

/* ---- answers ---- */

static void send_packet(struct question *q, const uint8_t *answer, size_t length)
{
        struct iovec part = {(void *)answer, length};
        struct msghdr message = {
                .msg_name = &q->from,
                .msg_namelen = q->from_size,
                .msg_iov = &part,
                .msg_iovlen = 1,
                .msg_control = q->control,
                .msg_controllen = (socklen_t)q->control_size,
        };

        sys_sendmsg(q->sandbox->dns.fd, &message, 0); /* a client that misses it asks again */
}

static void send_answer(struct question *q, const uint8_t *answer, size_t length)
{
        if (q->client != NULL)
                q->client->reply(q->client, answer, length);
        else
                send_packet(q, answer, length);
}

static void dns_stub_reply(struct question *q, unsigned code, const struct address *address)
{
        uint8_t answer[DNS_MESSAGE_MAX];
        size_t length = dns_write_answer(q->message, &q->q, code, address, address != NULL, TTL, answer);

        send_answer(q, answer, length);
}

/* Replies to a message that has a header but no valid question. */
static void reply_malformed(struct question *q)
{
        uint8_t answer[12] = {q->message[0], q->message[1], 0x80, DNS_FORMERR};

        if (q->length >= sizeof(answer) && !(q->message[2] & 0x80))
                send_answer(q, answer, sizeof(answer));
}

/* ---- questions ---- */

static void dns_stub_conclude(struct question *q, const struct resolved *resolved)
{
        struct egress_sandbox *s = q->sandbox;
        struct address address;
        bool v6 = q->q.type == DNS_AAAA;

        if (resolved->code != DNS_OK) {
                dns_stub_reply(q, resolved->code, NULL);
                return;
        }
        if (resolved->n == 0 || (v6 && !s->has_v6)) {
                dns_stub_reply(q, DNS_OK, NULL);
                return;
        }
        if (s->names == NULL)
                s->names = synthetic_new();
        if (s->names == NULL || synthetic_give(s->names, q->q.name, v6, &address) < 0)
                dns_stub_reply(q, DNS_SERVFAIL, NULL);
        else
                dns_stub_reply(q, DNS_OK, &address);
}

static void question_end(struct question *q)
{
        resolver_cancel(&q->wait);
        list_remove(&q->entry);
        q->sandbox->n_questions--;
        if (q->client != NULL)
                q->client->question = NULL;
        loop_free(&q->grave, q);
}

static void on_resolved(struct resolver_wait *wait, const struct resolved *resolved)
{
        struct question *q = list_entry(wait, struct question, wait);
        struct destination to = {0};

        memcpy(to.name, q->q.name, sizeof(to.name));
        if (policy_refuses(q->sandbox->policy, POLICY_LOOKUP, &to) != NULL) /* the policy may have changed */
                dns_stub_reply(q, DNS_NXDOMAIN, NULL);
        else
                dns_stub_conclude(q, resolved);
        if (q->client != NULL)
                q->client->done(q->client);
        question_end(q);
}

static bool ends_in(const char *name, const char *end)
{
        size_t n = strlen(name), m = strlen(end);

        return n >= m && strcmp(name + n - m, end) == 0;
}

/* Returns NULL if the name may be resolved, otherwise the reason; "": refused without a report. */
static const char *refuses(const struct egress_sandbox *s, const struct dns_question *q)
{
        struct destination to = {0};

        if (!q->has_name)
                return q->type == DNS_PTR ? "" : "not the name of a host";
        /* Programs look up the names of addresses without being asked to. */
        if (ends_in(q->name, ".arpa"))
                return "";
        memcpy(to.name, q->name, sizeof(to.name));
        return policy_refuses(s->policy, POLICY_LOOKUP, &to);
}

static void dns_stub_wait_for(struct question *q)
{
        struct egress_sandbox *s = q->sandbox;
        struct question *copy = s->n_questions < SANDBOX_QUESTIONS_MAX ? malloc(sizeof(*copy)) : NULL;
        struct resolved resolved;
        int r;

        if (copy == NULL) {
                dns_stub_reply(q, DNS_SERVFAIL, NULL);
                return;
        }
        *copy = *q;
        resolver_wait_init(&copy->wait, on_resolved);
        r = resolver_ask(q->q.name, &copy->wait, &resolved);
        if (r == 0) {
                list_add(&s->questions, &copy->entry);
                s->n_questions++;
                if (q->client != NULL)
                        q->client->question = copy;
                return;
        }
        free(copy);
        if (r > 0)
                dns_stub_conclude(q, &resolved);
        else
                dns_stub_reply(q, DNS_SERVFAIL, NULL);
}

/* q->message and its source are set. */
static void dns_stub_handle(struct question *q)
{
        const char *why;

        if (dns_read_question(q->message, q->length, &q->q) < 0) {
                reply_malformed(q);
                return;
        }
        q->sandbox->counted.lookups++;
        why = refuses(q->sandbox, &q->q);
        if (why != NULL) {
                if (why[0] != '\0')
                        egress_sandbox_refused(q->sandbox, false, q->q.shown, why);
                dns_stub_reply(q, DNS_NXDOMAIN, NULL);
        } else if (q->q.class != 1 || (q->q.type != DNS_A && q->q.type != DNS_AAAA)) {
                dns_stub_reply(q, DNS_OK, NULL);
        } else {
                dns_stub_wait_for(q);
        }
}

bool dns_stub_serve(struct egress_sandbox *s)
{
        static struct question q; /* too large for the stack; only used during the call */

        for (unsigned i = 0; i < PACKETS_MAX; i++) {
                struct iovec part = {q.message, sizeof(q.message)};
                struct msghdr message = {
                        .msg_name = &q.from,
                        .msg_namelen = sizeof(q.from),
                        .msg_iov = &part,
                        .msg_iovlen = 1,
                        .msg_control = q.control,
                        .msg_controllen = sizeof(q.control),
                };
                long n = sys_recvmsg(s->dns.fd, &message, 0);

                if (n == -EAGAIN)
                        return false;
                if (n < 0 || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
                        continue;
                q.sandbox = s;
                q.client = NULL;
                q.length = (size_t)n;
                q.from_size = message.msg_namelen;
                q.control_size = message.msg_controllen;
                dns_stub_handle(&q);
        }
        return true;
}

void dns_stub_ask(struct egress_sandbox *s, struct dns_client *client, const uint8_t *message, size_t length)
{
        static struct question q;

        q.sandbox = s;
        q.client = client;
        q.length = length;
        memcpy(q.message, message, length);
        dns_stub_handle(&q);
}

void dns_stub_forget(struct dns_client *client)
{
        if (client->question != NULL)
                question_end(client->question);
}

void dns_stub_drop(struct egress_sandbox *s)
{
        list_each (at, &s->questions, after) {
                question_end(list_entry(at, struct question, entry));
        }
}
