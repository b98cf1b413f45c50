/* egress/sandbox.h -- the network access of one sandbox: its sockets, policy, counters and refusals. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/loop.h"
#include "egress/policy/policy.h"
#include "egress/synthetic.h"
#include "wire/egress.h"

#define SANDBOX_QUESTIONS_MAX 64u /* concurrent DNS queries */
#define SANDBOX_PIPES_MAX 16u     /* pipes with data in them; further connections work without */

struct egress_sandbox {
        struct list others; /* in the same bucket */
        struct grave grave;
        uint64_t id;
        struct policy *policy;
        struct lane lane;

        struct source listener, dns;
        struct work accept, answer;
        struct timer retry; /* after descriptors ran out */
        bool has_v6, dns_v6;
        bool is_used; /* and marked, see wire/egress.h */

        struct synthetic *names; /* NULL: no lookups yet */
        struct list connections, questions;
        unsigned n_connections, n_questions, n_pipes;

        struct egress_counted counted;
        uint64_t reported[EGRESS_REPORTED_MAX]; /* hashes of reported refusals */
        unsigned n_reported;
};

/* The protocols above: main.c connects them, so that this module does not depend on them. */
struct egress_sandbox_ops {
        void (*accept)(struct egress_sandbox *sandbox, int fd); /* a new connection; takes ownership of fd */
        bool (*answer)(struct egress_sandbox *sandbox);         /* DNS queries; true: there may be more */
        void (*check_connections)(struct egress_sandbox *sandbox); /* the policy has changed */
        void (*queue_connections)(struct egress_sandbox *sandbox); /* queue the work of all connections */
        void (*close_connections)(struct egress_sandbox *sandbox);
        void (*drop_questions)(struct egress_sandbox *sandbox);
        void (*report)(const void *message, size_t length); /* to the owner; never blocks */
};

/* Keeps a pointer to ops. */
void sandboxes_init(const struct egress_sandbox_ops *ops);
struct egress_sandbox *egress_sandbox_find(uint64_t id);

/* Takes ownership of the policy and both descriptors, even on failure: -EINVAL (wrong sockets), -ENOSPC
 * (EGRESS_SANDBOXES_MAX), -EEXIST, -ENOMEM. */
int egress_sandbox_attach(uint64_t id, struct policy *policy, int listener, int dns);
/* Replaces the policy and takes ownership of it.  Closes connections that it does not allow. */
void egress_sandbox_change(struct egress_sandbox *sandbox, struct policy *policy);
void egress_sandbox_begin(struct egress_sandbox *sandbox);
/* Processes everything that arrived before now. */
void egress_sandbox_settle(struct egress_sandbox *sandbox);
void egress_sandbox_detach(struct egress_sandbox *sandbox);

/* Counts a refusal and reports it if it is new.  limit: a limit was reached; otherwise it is not allowed. */
void egress_sandbox_refused(struct egress_sandbox *sandbox, bool limit, const char *target,
                            const char *detail);

/* Returns the number of bytes that may still be transferred. */
uint64_t egress_sandbox_bytes_left(const struct egress_sandbox *sandbox);
