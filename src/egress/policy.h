/* egress/policy.h -- what a sandbox may reach: patterns, and the decision.
 *
 * A pattern is NAME, *.NAME (what is below it, not itself), an address, in allowed_private also a network
 * (10.0.0.0/8, fd00::/8), each with an optional :PORT (an IPv6 address is in [ ] then).  Without a port: 80
 * and 443; in lists that refuse, and in allowed_private: every port.  "*" alone is not a pattern. In
 * allowed_private a name or a network does not stand for a metadata service: only its very address does. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/address.h"
#include "egress/name.h"
#include "wire/egress.h"

/* NULL if text is a pattern of a list; else what is wrong with it, as a part of a sentence for its author
 * ("a name has letters, digits and hyphens; write it as xn--..."). */
enum policy_list { POLICY_ALLOWED, POLICY_BLOCKED, POLICY_PRIVATE };
const char *policy_check_pattern(enum policy_list list, const char *text);

struct policy; /* immutable; counted */

/* Of a message of `length` bytes.  Equal ones share their memory.  -EINVAL (a wrong size, pattern or number;
 * no connections or no idle time; tier standard with no list at all), -ENOMEM.  Not for two threads. */
int policy_get(const struct egress_attach *message, size_t length, struct policy **ret);
struct policy *policy_keep(struct policy *policy);
void policy_drop(struct policy *policy); /* NULL is fine */

/* Who a connection is for: a name that was normalised, or an address as the code gave it. */
struct destination {
        char name[NAME_MAX_BYTES]; /* "": by address */
        struct address address;    /* if by address */
        uint16_t port;
};

enum policy_kind {
        POLICY_SPOKEN, /* the connection named it itself, by SNI or Host */
        POLICY_RAW,    /* nothing was said: only entries that name this port count (tier elevated: any) */
        POLICY_LOOKUP, /* a DNS question: port 0, any port of an entry will do */
};

/* NULL: it may; else why not, a string that lasts: "not in allowed_domains", "in blocked_domains", ...
 * A blocked name blocks also its trailing-dot, upper-case and whatever forms: it is normalised already. */
const char *policy_refuses(const struct policy *policy, enum policy_kind kind, const struct destination *to);

/* The same for an address to dial, which the name was resolved to (or was given itself): NULL, or e.g.
 * "resolves to 10.0.0.1, which is private".  The text is in ret_text then.  With port 0 (a lookup) any port
 * of an entry lifts it: whoever connects asks again. */
const char *policy_refuses_address(const struct policy *policy, const struct destination *to,
                                   const struct address *address, char ret_text[128]);

/* Whether the entry for it names a port that is neither 80 nor 443 (then nothing is sniffed: the other side
 * may speak first), or in tier elevated whether such a port is asked for. */
bool policy_is_raw(const struct policy *policy, const struct destination *to);

uint32_t policy_connections_max(const struct policy *policy);
uint32_t policy_idle_ms(const struct policy *policy);
uint64_t policy_bytes_max(const struct policy *policy);
