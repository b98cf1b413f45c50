/* egress/policy/address.h -- IP addresses and their classification. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* IPv4 addresses are stored as ::ffff:a.b.c.d, so that there is only one kind. */
struct address {
        uint8_t bytes[16];
};

/* Parses an address in its strict form: four decimal numbers without leading zeros, or RFC 4291 (also in [
 * ]), without a zone.  Returns 0 or -EINVAL. */
int address_parse(const char *text, size_t length, struct address *ret);
bool address_is_v4(const struct address *a);
/* Writes the usual text (::ffff:1.2.3.4 as 1.2.3.4; RFC 5952), at most 45 bytes and a NUL. */
void address_write(const struct address *a, char ret[46]);
/* Returns NULL for a public address, otherwise its class: "private", "loopback", "link-local", "metadata",
 * "shared (CGNAT)", "multicast", "broadcast", "reserved", "documentation", "unspecified".  An IPv4 address
 * embedded in another form (v4-mapped, v4-compatible, NAT64 64:ff9b::/96, 6to4 2002::/16, Teredo, ISATAP)
 * is classified, too.  NAT64, 6to4 and ISATAP are public if the embedded address is; the others never are. */
const char *address_trouble(const struct address *a);
/* Returns the IPv4 address embedded in a NAT64 or 6to4 address, to which packets would be sent; false:
 * none. */
bool address_inner(const struct address *a, struct address *ret);
/* Returns true if the first `bits` bits are equal. */
bool address_in(const struct address *a, const struct address *network, unsigned bits);
