/* egress/address.h -- addresses, and which of them are nobody's business. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* IPv4 is kept as ::ffff:a.b.c.d, so that there is one kind. */
struct address {
        uint8_t bytes[16];
};

/* A literal in its strict form only: four decimals without leading zeros, or RFC 4291 (also in [ ]), no zone.
 * -EINVAL otherwise. */
int address_parse(const char *text, size_t length, struct address *ret);
bool address_is_v4(const struct address *a);
/* Its usual text (::ffff:1.2.3.4 as 1.2.3.4; RFC 5952), at most 45 bytes and NUL. */
void address_write(const struct address *a, char ret[46]);
/* NULL if it is public; else what it is: "private", "loopback", "link-local", "metadata", "shared (CGNAT)",
 * "multicast", "broadcast", "reserved", "documentation", "unspecified".  An IPv4 address inside another form
 * (v4-mapped, v4-compatible, NAT64 64:ff9b::/96, 6to4 2002::/16, Teredo, ISATAP) is judged too; of these
 * NAT64, 6to4 and ISATAP are fine if what is inside is, the others never. */
const char *address_trouble(const struct address *a);
/* The IPv4 address inside one of NAT64 or 6to4, through which it would be reached; false: none. */
bool address_inner(const struct address *a, struct address *ret);
/* Whether the first `bits` are equal. */
bool address_in(const struct address *a, const struct address *network, unsigned bits);
