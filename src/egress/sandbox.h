/* egress/sandbox.h -- one sandbox's way out: its listeners, its policy, what it used and what it was refused.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "egress/loop.h"
#include "egress/policy.h"
#include "egress/synthetic.h"
#include "wire/egress.h"

#define SANDBOX_QUESTIONS_MAX 64u /* of DNS, under way at once */
#define SANDBOX_PIPES_MAX 16u     /* that hold something; more goes without */

struct sandbox {
        struct list others; /* of the same bucket */
        struct grave grave;
        uint64_t id;
        struct policy *policy;
        struct lane lane;

        struct source listener, dns;
        struct work accept, answer;
        struct timer retry; /* when no descriptor was left */
        bool has_v6, dns_v6;
        bool is_used; /* and marked so, see wire/egress.h */

        struct synthetic *names; /* NULL: nothing was looked up yet */
        struct list connections, questions;
        unsigned n_connections, n_questions, n_pipes;

        struct egress_counted counted;
        uint64_t told[EGRESS_TOLD_MAX]; /* hashes of what was */
        unsigned n_told;
};

void sandboxes_init(void);
struct sandbox *sandbox_find(uint64_t id);

/* Takes the policy and both descriptors, also when it fails: -EINVAL (they are no such sockets), -ENOSPC
 * (EGRESS_SANDBOXES_MAX), -EEXIST, -ENOMEM. */
int sandbox_attach(uint64_t id, struct policy *policy, int listener, int dns);
/* Another policy; takes it.  What it does not allow is closed. */
void sandbox_change(struct sandbox *sandbox, struct policy *policy);
void sandbox_begin(struct sandbox *sandbox);
/* Handles what has come before now. */
void sandbox_settle(struct sandbox *sandbox);
void sandbox_detach(struct sandbox *sandbox);

/* Counts a refusal, and tells of it if it is a new one.  limit: a limit was hit, else it is not allowed. */
void sandbox_refused(struct sandbox *sandbox, bool limit, const char *target, const char *detail);

/* How many bytes may still be moved; what was. */
uint64_t sandbox_bytes_left(const struct sandbox *sandbox);
