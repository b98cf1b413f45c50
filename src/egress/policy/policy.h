/* egress/policy/policy.h -- what a sandbox may connect to: patterns and the decision.
 *
 * A pattern is NAME, *.NAME (names below NAME, not NAME itself), an address or, in allowed_private, a
 * network (10.0.0.0/8, fd00::/8), each with an optional :PORT (an IPv6 address must be in [ ] then).
 * Without a port: 80 and 443; in lists that refuse, and in allowed_private: every port.  "*" alone is not a
 * pattern.  In allowed_private, a name or a network does not include metadata services: only their exact
 * address does. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress/policy/address.h"
#include "egress/policy/name.h"
#include "egress/policy/pattern.h"
#include "wire/egress.h"

/* Returns NULL if text is a valid pattern of the list; otherwise what is wrong, as a part of a sentence for
 * its author ("a name has letters, digits and hyphens; write it as xn--..."). */
const char *policy_check_pattern(enum policy_list list, const char *text);

struct policy; /* immutable, reference-counted */

/* Creates the policy in a message of `length` bytes.  Equal policies share their memory.  Returns 0,
 * -EINVAL (invalid size, pattern or number; no connections or no idle time; tier standard without any list)
 * or -ENOMEM.  Not thread-safe. */
int policy_get(const struct egress_attach *message, size_t length, struct policy **ret);
struct policy *policy_keep(struct policy *policy);
void policy_drop(struct policy *policy); /* policy may be NULL */

/* The destination of a connection: a normalised name, or the address that the code has used. */
struct destination {
        char name[NAME_MAX_BYTES]; /* "": by address */
        struct address address;    /* if by address */
        uint16_t port;
};

enum policy_kind {
        POLICY_SPOKEN, /* named by the connection itself, in SNI or Host */
        POLICY_RAW,    /* no name in the connection: only entries with this port apply (tier elevated: any) */
        POLICY_LOOKUP, /* a DNS query: port 0, entries with any port apply */
};

/* Returns NULL if the destination is allowed, otherwise the reason, a static string: "not in
 * allowed_domains", "in blocked_domains", ...  Names are normalised, so a blocked name also blocks its
 * upper-case and trailing-dot forms. */
const char *policy_refuses(const struct policy *policy, enum policy_kind kind, const struct destination *to);

/* Same for an address to connect to (a resolved one or the destination itself): NULL, or a text such as
 * "resolves to 10.0.0.1, which is private", which is stored in ret_text.  With port 0 (a lookup), an entry
 * with any port permits it: the connection is checked again. */
const char *policy_refuses_address(const struct policy *policy, const struct destination *to,
                                   const struct address *address, char ret_text[128]);

/* Returns true if the entry for the destination has a port other than 80 and 443, or in tier elevated, if
 * such a port is used.  Then the data is not examined first, because the server may send first. */
bool policy_is_raw(const struct policy *policy, const struct destination *to);

uint32_t policy_connections_max(const struct policy *policy);
uint32_t policy_idle_ms(const struct policy *policy);
uint64_t policy_bytes_max(const struct policy *policy);
